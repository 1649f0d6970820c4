// The first three stones and the swap.

#ifndef OPENING_H
#define OPENING_H

#include <random>

#include "position.h"
#include "search.h"

/// Black's first stone: anywhere in the central 7x7, so that games differ.
int first_stone(std::mt19937 &generator);

/// Black's second stone: white may swap, so one of the places where neither side is ahead.
int balanced_stone(Position &position, Search &search, double budget_s, std::mt19937 &generator);

#endif
