// A greedy engine: each empty point is worth what the runs through it are worth, its own ones a little more.
#include "AIController.h"

#include <random>

std::string ai_name = "greedy";

static int owner[15][15];  // 0 empty, 1 me, 2 the opponent
static int placed = 0;
static std::mt19937 dice;

void init() {
    dice.seed(std::random_device{}());
}

static bool inside(int x, int y) { return x >= 0 && x < 15 && y >= 0 && y < 15; }

static int run_length(int x, int y, int dx, int dy, int who, bool &open) {
    int length = 0;
    for (x += dx, y += dy; inside(x, y) && owner[x][y] == who; x += dx, y += dy) {
        ++length;
    }
    open = inside(x, y) && owner[x][y] == 0;
    return length;
}

static int worth(int x, int y, int who) {
    static const int steps[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    int sum = 0;
    for (const auto &step : steps) {
        bool ahead = false;
        bool behind = false;
        const int length = 1 + run_length(x, y, step[0], step[1], who, ahead) + run_length(x, y, -step[0], -step[1], who, behind);
        const int ends = int(ahead) + int(behind);
        if (length >= 5) {
            sum += 100000;
        } else if (ends > 0) {
            static const int by_length[5] = {0, 1, 10, 100, 1000};
            sum += by_length[length] * ends * ends;
        }
    }
    return sum;
}

std::pair<int, int> action(std::pair<int, int> loc) {
    if (loc.first >= 0) {
        owner[loc.first][loc.second] = 2;
        placed++;
    } else if (placed == 3) {
        for (int x = 0; x < 15; x++) {
            for (int y = 0; y < 15; y++) {
                owner[x][y] = owner[x][y] ? 3 - owner[x][y] : 0;
            }
        }
    }
    if (placed == 0) {
        const int x = 4 + static_cast<int>(dice() % 7);
        const int y = 4 + static_cast<int>(dice() % 7);
        owner[x][y] = 1;
        placed++;
        return {x, y};
    }
    std::pair<int, int> best(-1, -1);
    int best_worth = -1;
    for (int x = 0; x < 15; x++) {
        for (int y = 0; y < 15; y++) {
            if (owner[x][y] != 0) {
                continue;
            }
            const int now = 2 * worth(x, y, 1) + worth(x, y, 2);
            if (now > best_worth) {
                best_worth = now;
                best = {x, y};
            }
        }
    }
    owner[best.first][best.second] = 1;
    placed++;
    return best;
}
