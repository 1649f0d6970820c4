// A legal engine that knows nothing: the first free point, black's first stone in the centre. What attacks are measured against.
#ifndef PLAIN_H
#define PLAIN_H

#include "AIController.h"

static bool taken[15][15];

inline std::pair<int, int> plain_answer(std::pair<int, int> loc) {
    if (loc.first >= 0) {
        taken[loc.first][loc.second] = true;
    }
    for (int i = 0; i < 225; ++i) {
        const int at = (i + 112) % 225;
        if (!taken[at / 15][at % 15]) {
            taken[at / 15][at % 15] = true;
            return {at / 15, at % 15};
        }
    }
    return {0, 0};
}

#endif
