// The reference engine as a teacher: it plays itself from varied openings and records the best move and its score for every
// position. training/supervised/learning.py trains a network on these games (docs/training.md).
//
//     teacher FILE [--seed FIRST] [--games N] [--nodes N] [--least-stones N]
//
// The first line of FILE holds the settings, each further line one game, as JSON. `opening` is the number of stones put down at
// random; `best` and `scores` belong to the positions after them. Moves are numbered y * size + x as on Board, black's first.
// Scores are for the side to move; beyond 900000 they are proven. `winner` is 0 (black), 1 (white) or -1. `random` lists the
// plies whose move was drawn. A game depends on nothing but its seed and the settings. The same command continues where FILE
// ends, also after a kill.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

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
constexpr auto BETWEEN_REPORTS = std::chrono::seconds(30);

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

struct Lesson {
    std::uint64_t seed = 0;
    int opening = 0;
    int winner = -1;
    std::vector<int> moves;
    std::vector<int> best;
    std::vector<int> scores;
    std::vector<int> random;
};

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

std::string list(const char *name, const std::vector<int> &numbers) {
    std::string text = std::string(",\"") + name + "\":[";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        text += (i > 0 ? "," : "") + std::to_string(numbers[i]);
    }
    return text + "]";
}

std::string line_of(const Lesson &lesson) {
    return "{\"seed\":" + std::to_string(lesson.seed) + ",\"opening\":" + std::to_string(lesson.opening) +
           ",\"winner\":" + std::to_string(lesson.winner) + list("moves", lesson.moves) + list("best", lesson.best) +
           list("scores", lesson.scores) + list("random", lesson.random) + "}";
}

/// Returns: an empty string, or a sentence that says what is wrong with the arguments.
std::string read_arguments(const std::vector<std::string> &arguments, Settings &settings) {
    if (arguments.size() % 2 == 0) {
        return "expected FILE [--seed FIRST] [--games N] [--nodes N] [--least-stones N]";
    }
    settings.file = arguments[0];
    for (std::size_t i = 1; i < arguments.size(); i += 2) {
        char *end = nullptr;
        const std::string &text = arguments[i + 1];
        const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
        const bool counts_stones = arguments[i] == "--least-stones";
        const std::uint64_t least = counts_stones ? 0 : 1;
        const std::uint64_t most = counts_stones ? MOST_OPENING_STONES : 1'000'000'000;
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < least || number > most) {
            return "expected a number from " + std::to_string(least) + " to " + std::to_string(most) + " after " +
                   arguments[i] + "; got '" + text + "'";
        }
        if (arguments[i] == "--seed") {
            settings.first_seed = number;
        } else if (arguments[i] == "--games") {
            settings.games = number;
        } else if (arguments[i] == "--nodes") {
            settings.nodes = number;
        } else if (counts_stones) {
            settings.least_stones = number;
        } else {
            return "expected --seed, --games, --nodes or --least-stones; got '" + arguments[i] + "'";
        }
    }
    return "";
}

/// How many games FILE holds. An incomplete last line, left by a killed run, is cut off. `complaint` is set if FILE was made
/// with other settings.
std::uint64_t games_before(const Settings &settings, std::string &complaint) {
    std::ifstream file(settings.file);
    std::string line;
    std::uint64_t lines = 0;
    std::uintmax_t whole = 0;
    while (std::getline(file, line) && !file.eof()) {
        if (lines == 0 && line != settings.line()) {
            complaint = "expected " + settings.file + " to be of these settings; it begins with " + line.substr(0, 100);
            return 0;
        }
        ++lines;
        whole += line.size() + 1;
    }
    file.close();
    if (lines == 0 && settings.line().rfind(line, 0) != 0) {
        complaint = "expected " + settings.file + " to be a file of games; it begins with " + line.substr(0, 100);
        return 0;
    }
    if (std::filesystem::exists(settings.file)) {
        std::filesystem::resize_file(settings.file, whole);
    }
    if (lines == 0) {
        std::ofstream(settings.file, std::ios::app) << settings.line() << "\n" << std::flush;
        return 0;
    }
    return lines - 1;
}

void teach(const Settings &settings, std::uint64_t done) {
    std::ofstream file(settings.file, std::ios::app);
    const std::uint64_t first = done;
    const auto start = std::chrono::steady_clock::now();
    auto reported = start;
    std::size_t positions = 0;
    while (done < settings.games && file) {
        const auto teacher = std::make_unique<Teacher>(settings.first_seed + done, settings);
        const Lesson lesson = teacher->play();
        file << line_of(lesson) << "\n" << std::flush;
        positions += lesson.best.size();
        ++done;
        const auto now = std::chrono::steady_clock::now();
        if (now - reported > BETWEEN_REPORTS || done == settings.games) {
            reported = now;
            const double spent_s = std::chrono::duration<double>(now - start).count();
            const double left_s = spent_s / static_cast<double>(done - first) * static_cast<double>(settings.games - done);
            std::fprintf(stderr, "%llu of %llu games, %zu positions, %.1f a second, %.0f min left\n",
                         static_cast<unsigned long long>(done), static_cast<unsigned long long>(settings.games), positions,
                         static_cast<double>(positions) / spent_s, left_s / 60);
        }
    }
}

}  // namespace

int main(int argc, char **argv) {
    Settings settings;
    std::string complaint = read_arguments({argv + 1, argv + argc}, settings);
    std::uint64_t done = 0;
    if (complaint.empty()) {
        done = games_before(settings, complaint);
    }
    if (complaint.empty() && !std::ofstream(settings.file, std::ios::app)) {
        complaint = "expected " + settings.file + " to be writable; it is not";
    }
    if (!complaint.empty()) {
        std::cerr << "teacher: " << complaint << std::endl;
        return 2;
    }
    init_patterns();
    teach(settings, done);
    return 0;
}
