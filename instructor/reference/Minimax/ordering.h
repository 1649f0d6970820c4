// Move generation and move ordering: alpha-beta cuts off most where the best move comes first.

#ifndef ORDERING_H
#define ORDERING_H

#include <array>
#include <vector>

#include "evaluate.h"
#include "options.h"
#include "position.h"

struct Move {
    int cell;
    int key;  // moves are ordered by it, largest first
};

class MoveOrdering {
   public:
    MoveOrdering(const Position &position, const Options &options) : position_(position), options_(options) { forget(); }

    /// Forget killers and history: a new search begins.
    void forget();

    /// Note a quiet move that caused a cut-off, since it is likely to cause more of them: killer moves (Akl and Newborn 1977)
    /// in other nodes at this ply, history heuristic (Schaeffer 1983) anywhere.
    void remember(int side, int cell, int depth, int ply);

    /// Replace `moves` by the moves worth a search, best first: the one that makes or stops a five; else, where the opponent
    /// threatens an open four, all that answer it; else the `width` best points near the stones. Never empty unless the board
    /// is full. `preferred` (or NO_CELL) comes first.
    void find_moves(int side, int preferred, int ply, int width, std::vector<Move> &moves) const;

   private:
    bool find_forced(int side, std::vector<Move> &moves) const;
    bool must_answer(int side) const;
    int key(int side, int cell, int preferred, int ply) const;

    const Position &position_;
    const Options options_;
    std::array<std::array<int, CELLS>, 2> history_;
    std::array<std::array<int, 2>, MAX_PLY + 1> killers_;
};

#endif
