#include "board.h"

int cells[N][N];
int stones = 0;

// The sum over all rows of five points through (x, y) that the other colour has no stone in.
int threat_value(int x, int y, int who) {
    static const int worth[5] = {1, 12, 150, 2000, 1000000};
    static const int steps[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    int sum = 0;
    for (const auto &step : steps) {
        for (int back = 0; back < 5; back++) {
            int own = 0;
            bool usable = true;
            for (int k = -back; k < 5 - back; k++) {
                const int a = x + k * step[0];
                const int b = y + k * step[1];
                if (a < 0 || b < 0 || a >= N || b >= N || cells[a][b] == -who) {
                    usable = false;
                    break;
                }
                own += cells[a][b] == who;
            }
            if (usable) {
                sum += worth[own];
            }
        }
    }
    return sum;
}
