// Plays the point that is worth most to both; as white it takes the two stones whatever they are.
#include "board.h"

string ai_name = "taker";

void init() { srand(time(0)); }

static pair<int, int> best_point() {
    pair<int, int> best(-1, -1);
    long best_value = -1;
    for (int x = 0; x < N; x++) {
        for (int y = 0; y < N; y++) {
            if (cells[x][y] == 0) {
                const long value = 3L * threat_value(x, y, 1) + 2L * threat_value(x, y, -1) + rand() % 3;
                if (value > best_value) {
                    best_value = value;
                    best = make_pair(x, y);
                }
            }
        }
    }
    return best;
}

static void exchange() {
    for (int x = 0; x < N; x++) {
        for (int y = 0; y < N; y++) {
            cells[x][y] = -cells[x][y];
        }
    }
}

pair<int, int> action(pair<int, int> loc) {
    if (loc.first != -1) {
        cells[loc.first][loc.second] = -1;
        stones++;
    } else if (stones == 3) {
        exchange();
    }
    if (ai_side == 1 && stones == 3) {
        exchange();
        return make_pair(-1, -1);
    }
    pair<int, int> point = stones == 0 ? make_pair(4 + rand() % 7, 4 + rand() % 7) : best_point();
    cells[point.first][point.second] = 1;
    stones++;
    return point;
}
