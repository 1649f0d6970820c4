// The reference engine as a teacher: it plays itself from varied openings and records the best move and its score for every
// position. training/supervised/learning.py trains a network on these games (docs/training.md).
//
//     teacher FILE [--seed FIRST] [--games N] [--nodes N] [--least-stones N]
//
// lessons.h describes FILE.

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lessons.h"
#include "position.h"
#include "search.h"

namespace {

constexpr int MOST_OPENING_STONES = 8;
constexpr int CENTRE = 3;              // greatest distance of the first stone from the middle
constexpr int CLOSE = 3;               // greatest distance of most other stones of the opening from some stone
constexpr int FAR = 5;                 // greatest distance of the rest
constexpr int EVEN_SCORE = 150;        // openings with a larger score count as uneven
constexpr double UNEVEN_SHARE = 0.15;  // of the uneven openings without a proven win: kept
constexpr double SHALLOW_SHARE = 0.2;  // of the moves: the best one of the iteration before the last, mostly nearly as good
constexpr double RANDOM_SHARE = 0.05;  // of the moves: drawn by their patterns, so that the games contain mistakes

struct Settings {
    std::string file;
    std::uint64_t first_seed = 1;
    std::uint64_t games = 1000;
    std::uint64_t nodes = 20'000;    // for the search of a move; an opening gets a quarter of them
    std::uint64_t least_stones = 1;  // of an opening; with 0, some games begin on the empty board

    std::string line() const {
        // Files from before there was this setting go on.
        const std::string least = least_stones == 1 ? "" : ",\"least_stones\":" + std::to_string(least_stones);
        return "{\"size\":" + std::to_string(SIZE) + ",\"first_seed\":" + std::to_string(first_seed) +
               ",\"nodes\":" + std::to_string(nodes) + least + "}";
    }
};

using lessons::Lesson;

int number_of(int cell) { return y_of(cell) * SIZE + x_of(cell); }

/// Plays one game, which depends on nothing but its seed and the settings.
class Teacher {
   public:
    Teacher(std::uint64_t seed, const Settings &settings)
        : nodes_(settings.nodes), least_stones_(static_cast<int>(settings.least_stones)), search_(position_, Options()) {
        // With neighbouring seeds mt19937_64 begins with similar numbers.
        std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
        generator_.seed(mixed);
        lesson_.seed = seed;
    }

    Lesson play() {
        while (!set_opening()) {
            clear();
        }
        while (!position_.is_full()) {
            const int side = position_.stones() % 2;
            const int cell = choose(side);
            const bool wins = position_.point_class(side, cell) == MAKES_FIVE;
            put(cell);
            if (wins) {
                lesson_.winner = side;
                break;
            }
        }
        return lesson_;
    }

   private:
    /// Record the best move and its score; returns the move to play, mostly the same one.
    int choose(int side) {
        std::vector<int> earlier;  // best moves of the completed iterations
        const Result result = search(side, nodes_, [&](const Result &found) { earlier.push_back(found.line.front()); });
        lesson_.best.push_back(number_of(result.cell));
        lesson_.scores.push_back(result.score);
        if (chance() < RANDOM_SHARE) {
            lesson_.random.push_back(position_.stones());
            return draw_by_patterns(side);
        }
        const bool is_shallow = earlier.size() > 1 && chance() < SHALLOW_SHARE;
        return is_shallow ? earlier[earlier.size() - 2] : result.cell;
    }

    double chance() { return std::uniform_real_distribution<double>(0.0, 1.0)(generator_); }
    int drawn(int least, int most) { return std::uniform_int_distribution<int>(least, most)(generator_); }

    void put(int cell) {
        position_.put(cell, position_.stones() % 2);
        placed_.push_back(cell);
        lesson_.moves.push_back(number_of(cell));
    }

    void clear() {
        for (const int cell : placed_) {
            position_.take(cell);
        }
        placed_.clear();
        lesson_.moves.clear();
    }

    Result search(int side, std::uint64_t nodes, const Observer &observer = nullptr) {
        return search_.run(side, Limits::of_nodes(nodes), observer);
    }

    /// Put the first stones down; returns whether a game from there is worth playing.
    bool set_opening() {
        lesson_.opening = drawn(least_stones_, MOST_OPENING_STONES);
        if (lesson_.opening == 0) {
            return true;
        }
        put(cell_of(SIZE / 2 + drawn(-CENTRE, CENTRE), SIZE / 2 + drawn(-CENTRE, CENTRE)));
        while (position_.stones() < lesson_.opening) {
            const int reach = chance() < 0.9 ? CLOSE : FAR;
            const int near = placed_[static_cast<std::size_t>(drawn(0, position_.stones() - 1))];
            const int x = x_of(near) + drawn(-reach, reach);
            const int y = y_of(near) + drawn(-reach, reach);
            if (std::min(x, y) >= 0 && std::max(x, y) < SIZE && position_.is_empty(cell_of(x, y))) {
                put(cell_of(x, y));
            }
        }
        const int score = std::abs(search(position_.stones() % 2, nodes_ / 4).score);
        return score <= EVEN_SCORE || (score < SURE_WIN && chance() < UNEVEN_SHARE);
    }

    /// A random empty point, mostly near the stones: the more it is worth to both sides, the likelier.
    int draw_by_patterns(int side) {
        std::vector<int> cells;
        std::vector<double> worth;
        for (const int cell : position_.points()) {
            if (position_.is_empty(cell)) {
                cells.push_back(cell);
                worth.push_back(position_.is_near(cell) ? 1.0 + position_.value(side, cell) + position_.value(1 - side, cell)
                                                        : 0.01);
            }
        }
        return cells[std::discrete_distribution<std::size_t>(worth.begin(), worth.end())(generator_)];
    }

    const std::uint64_t nodes_;
    const int least_stones_;
    Position position_;
    Search search_;
    std::mt19937_64 generator_;
    std::vector<int> placed_;
    Lesson lesson_;
};

}  // namespace

int main(int argc, char **argv) {
    Settings settings;
    const std::string complaint = lessons::read_arguments({argv + 1, argv + argc}, settings.file,
                                                          {{"--seed", 1, lessons::MANY, settings.first_seed},
                                                           {"--games", 1, lessons::MANY, settings.games},
                                                           {"--nodes", 1, lessons::MANY, settings.nodes},
                                                           {"--least-stones", 0, MOST_OPENING_STONES, settings.least_stones}});
    if (!complaint.empty()) {
        std::cerr << "teacher: " << complaint << std::endl;
        return 2;
    }
    init_patterns();
    return lessons::teach(settings.file, settings.line(), settings.first_seed, settings.games,
                          [&settings](std::uint64_t seed) { return std::make_unique<Teacher>(seed, settings)->play(); });
}
