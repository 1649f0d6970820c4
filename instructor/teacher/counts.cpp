// Counts what the reference's evaluation counts, in each quiet position of games on 15x15; fit_patterns.py fits the weights to
// it.
//
// Standard input: a line for each game, with the winner (0 black, 1 white, -1 nobody) and the moves, numbered y * 15 + x.
// Standard output: a line for each position, with
//     the number of the game, and 1 if the side to move won it or 0 if it lost;
//     how many lines through empty points have each pattern, ONE to OPEN_THREE and FOUR, for the side to move, then the
//     opponent; whether there is a FOUR_THREE of the side to move, of the opponent, and a DOUBLE_THREE of each in the same
//     order.
// Drawn games and positions that threats decide are left out, since the search does not evaluate those.

#include <array>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "position.h"
#include "threats.h"

namespace {

constexpr int FIRST_PLY = 5;  // before it the stones say nothing about the winner
constexpr int VCF_NODES = 300;
constexpr std::array<int, 6> COUNTED = {ONE, TWO, OPEN_TWO, THREE, OPEN_THREE, FOUR};

bool is_quiet(const Position &position, ThreatSearch &threats, int side) {
    for (const int colour : {side, 1 - side}) {
        if (position.count(colour, MAKES_FIVE) > 0 || position.count(colour, WIN_FOUR) > 0) {
            return false;
        }
    }
    return threats.find_vcf(side, VCF_NODES) == NO_CELL;
}

void print_counts(const Position &position, int side) {
    for (const int colour : {side, 1 - side}) {
        std::array<int, FIVE + 1> found{};
        for (const int cell : position.points()) {
            for (int direction = 0; position.is_empty(cell) && direction < 4; ++direction) {
                ++found[position.pattern(colour, cell, direction)];
            }
        }
        for (const int pattern : COUNTED) {
            std::cout << ' ' << found[pattern];
        }
    }
    for (const PointClass wanted : {FOUR_THREE, DOUBLE_THREE}) {
        for (const int colour : {side, 1 - side}) {
            std::cout << ' ' << (position.count(colour, wanted) > 0);
        }
    }
}

}  // namespace

int main() {
    init_patterns();
    std::string line;
    for (int game = 0; std::getline(std::cin, line); ++game) {
        std::istringstream numbers(line);
        int winner = 0;
        numbers >> winner;
        const auto position = std::make_unique<Position>();
        ThreatSearch threats(*position);
        int move = 0;
        for (int ply = 0; numbers >> move; ++ply) {
            const int side = ply % 2;
            if (winner >= 0 && ply >= FIRST_PLY && is_quiet(*position, threats, side)) {
                std::cout << game << ' ' << (winner == side);
                print_counts(*position, side);
                std::cout << '\n';
            }
            position->put(cell_of(move % SIZE, move / SIZE), side);
        }
    }
}
