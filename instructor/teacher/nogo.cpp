// UCT with RAVE (games/nogo/players/search.h) as a teacher of NoGo: it plays itself from random openings and records the best
// move and its score for every position, for the first stage of AlphaGo (docs/training.md).
//
//     nogo FILE [--size N] [--seed FIRST] [--games N] [--simulations N]
//
// lessons.h describes FILE. A score is 600 atanh(2 v - 1), where v is the mean result of the move in the search.

#include <cmath>
#include <iostream>
#include <string>

#include "lessons.h"
#include "search.h"

namespace {

using lessons::Lesson;
using namespace nogo;

constexpr std::uint64_t MOST_SIMULATIONS = 2'000'000;
constexpr int MOST_OPENING_STONES = 6;
constexpr int RANDOM_MOVES = 10;  // one move in this many is drawn, so that the games contain mistakes
constexpr double SCALE = 600;
constexpr double SUREST = 0.999;  // the largest mean result that is turned into a score

struct Settings {
    std::string file;
    std::uint64_t size = 7;
    std::uint64_t first_seed = 1;
    std::uint64_t games = 1000;
    std::uint64_t simulations = 1000;

    std::string line() const {
        return "{\"size\":" + std::to_string(size) + ",\"game\":\"nogo\",\"first_seed\":" + std::to_string(first_seed) +
               ",\"simulations\":" + std::to_string(simulations) + "}";
    }
};

int score_of(double value) {
    return static_cast<int>(std::lround(SCALE * std::atanh(std::clamp(2 * value - 1, -SUREST, SUREST))));
}

/// One game, which depends on nothing but its seed and the settings.
Lesson play(std::uint64_t seed, const Settings &settings) {
    const int size = static_cast<int>(settings.size);
    Random random(seed);
    Search search(Method::RAVE, static_cast<int>(settings.simulations), random);
    Position position(size);
    Lesson lesson;
    lesson.seed = seed;
    const auto number_of = [size](Cell cell) { return row_of(cell) * size + column_of(cell); };
    const int stones = random.below(MOST_OPENING_STONES + 1);
    for (Colour mover = BLACK;; mover = other(mover)) {
        const std::vector<Cell> legal = position.legal_moves(mover);
        if (legal.empty()) {
            lesson.winner = other(mover);
            return lesson;
        }
        const int ply = static_cast<int>(lesson.moves.size());
        Cell cell = legal[static_cast<std::size_t>(random.below(static_cast<int>(legal.size())))];
        if (ply < stones) {
            ++lesson.opening;
        } else {
            const Cell best = search.choose(position, mover);
            lesson.best.push_back(number_of(best));
            lesson.scores.push_back(score_of(search.value()));
            if (random.below(RANDOM_MOVES) == 0) {
                lesson.random.push_back(ply);
            } else {
                cell = best;
            }
        }
        position.play(cell, mover);
        lesson.moves.push_back(number_of(cell));
    }
}

}  // namespace

int main(int argc, char **argv) {
    Settings settings;
    const std::string complaint = lessons::read_arguments({argv + 1, argv + argc}, settings.file,
                                                          {{"--size", SMALLEST, LARGEST, settings.size},
                                                           {"--seed", 1, lessons::MANY, settings.first_seed},
                                                           {"--games", 1, lessons::MANY, settings.games},
                                                           {"--simulations", 1, MOST_SIMULATIONS, settings.simulations}});
    if (!complaint.empty()) {
        std::cerr << "teacher: " << complaint << std::endl;
        return 2;
    }
    return lessons::teach(settings.file, settings.line(), settings.first_seed, settings.games,
                          [&settings](std::uint64_t seed) { return play(seed, settings); });
}
