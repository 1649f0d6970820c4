#ifndef PLAYER_BOARD_H
#define PLAYER_BOARD_H

#include "AIController.h"

using namespace std;

const int N = 15;

extern int cells[N][N];  // 0 empty, 1 mine, -1 the opponent's
extern int stones;

int threat_value(int x, int y, int who);

#endif
