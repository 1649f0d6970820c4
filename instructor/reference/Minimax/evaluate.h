// Scores of positions, for the side to move.

#ifndef EVALUATE_H
#define EVALUATE_H

#include "position.h"

constexpr int WIN = 1'000'000;     // minus the number of plies to the five
constexpr int SURE_WIN = 900'000;  // scores beyond it, in either direction, are proven
constexpr int MAX_PLY = 64;

/// The static evaluation of a position for `side`, who is to move.
int evaluate(const Position &position, int side);

#endif
