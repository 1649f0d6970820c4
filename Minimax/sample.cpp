// The smallest engine: random legal moves for both colours, with the swap. Start yours from it.
//
// The swap. White may answer black's second stone with -1 -1 instead of a stone. Then every stone on the board changes colour
// and black moves again. The engines keep their seats: the one that was told 0 is still black. It is sent -1 -1 and answers
// next. Of the three stones it now owns the one that was white, and white owns the other two.

#include <chrono>
#include <random>

#include "AIController.h"

std::string ai_name = "sample";

static const int SIZE = 15;
static const std::pair<int, int> NOTHING(-1, -1);  // instead of a stone: black opens the game, or white swaps

static int board[SIZE][SIZE];  // 0 empty, 1 mine, 2 the opponent's
static int stones;             // on the board
static std::mt19937 generator;

static std::pair<int, int> random_empty_point(int low, int high) {
    std::uniform_int_distribution<int> coordinate(low, high);
    while (true) {
        const int x = coordinate(generator);
        const int y = coordinate(generator);
        if (board[x][y] == 0) {
            return {x, y};
        }
    }
}

static void swap_colours() {
    for (auto &column : board) {
        for (int &stone : column) {
            if (stone != 0) {
                stone = 3 - stone;
            }
        }
    }
}

void init() {
    // A seed from the environment repeats a game; without one the clock makes each game different.
    const char *seed = std::getenv("GOMOKU_SEED");
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    generator.seed(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : static_cast<unsigned>(now));
    // Optional: with this, judge.py --suite can start the engine from given positions.
    ai_set_stone = [](int x, int y, bool mine) {
        board[x][y] = mine ? 1 : 2;
        ++stones;
    };
}

std::pair<int, int> action(std::pair<int, int> loc) {
    if (loc != NOTHING) {
        board[loc.first][loc.second] = 2;
        ++stones;
    } else if (stones > 0) {
        swap_colours();  // the opponent, white, has swapped
    }
    if (ai_side == 1 && stones == 3 && std::getenv("GOMOKU_NO_SWAP") == nullptr && generator() % 2 == 0) {
        swap_colours();  // legal here: the engine is white and this is its second action
        return NOTHING;
    }
    // Black's first stone must lie in the central 7x7; the board is never full when it is our turn.
    std::pair<int, int> point = stones == 0 ? random_empty_point(4, 10) : random_empty_point(0, SIZE - 1);
    // A match may ask for a certain first stone, so that each engine plays both sides of it.
    const char *opening = std::getenv("GOMOKU_OPENING");
    int x = 0;
    int y = 0;
    if (stones == 0 && opening != nullptr && std::sscanf(opening, "%d %d", &x, &y) == 2 && std::min(x, y) >= 4 &&
        std::max(x, y) <= 10) {
        point = {x, y};
    }
    board[point.first][point.second] = 1;
    ++stones;
    return point;
}
