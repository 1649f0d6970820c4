// Black's first two stones, the ones that no search for the best move can choose.

#ifndef OPENING_H
#define OPENING_H

#include <random>

#include "position.h"
#include "search.h"

/// Black's first stone: a random point of the central 7x7, so that games differ, or the one that GOMOKU_OPENING names.
int first_stone(std::mt19937 &generator);

/// Black's second stone: one of the points after which neither side is ahead, since white may swap.
int balanced_stone(Position &position, Search &search, const Limits &limits, std::mt19937 &generator);

#endif
