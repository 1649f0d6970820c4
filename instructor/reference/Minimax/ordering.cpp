#include "ordering.h"

#include <algorithm>

namespace {

// Keys, in points of the pattern values.
constexpr int PREFERRED_KEY = 1'000'000;
constexpr int KILLER_KEY = 150;
constexpr int OWN_CLASS_KEY = 400;
constexpr int OTHER_CLASS_KEY = 250;
constexpr int MOST_HISTORY_KEY = 200;

}  // namespace

void MoveOrdering::forget() {
    history_ = {};
    killers_ = {};
}

void MoveOrdering::remember(int side, int cell, int depth, int ply) {
    if (options_.history) {
        history_[side][cell] += depth * depth;
    }
    if (options_.killers && killers_[ply][0] != cell) {
        killers_[ply][1] = killers_[ply][0];
        killers_[ply][0] = cell;
    }
}

void MoveOrdering::find_moves(int side, int preferred, int ply, int width, std::vector<Move> &moves) const {
    moves.clear();
    if (find_forced(side, moves)) {
        return;
    }
    const int other = 1 - side;
    const bool answers_only = must_answer(side);
    for (const int cell : position_.points()) {
        if (!position_.is_empty(cell) || !position_.is_near(cell)) {
            continue;
        }
        const bool answers =
            position_.point_class(side, cell) >= MAKES_FOUR || position_.point_class(other, cell) >= MAKES_FOUR;
        if (answers || !answers_only) {
            moves.push_back({cell, key(side, cell, preferred, ply)});
        }
    }
    std::sort(moves.begin(), moves.end(), [](const Move &a, const Move &b) { return a.key > b.key; });
    if (!answers_only && moves.size() > static_cast<std::size_t>(width)) {
        moves.resize(static_cast<std::size_t>(width));
    }
    if (moves.empty()) {  // no stone is near: the board is empty, or only remote points are left
        for (const int cell : position_.points()) {
            if (position_.is_empty(cell)) {
                moves.push_back({cell, 0});
            }
        }
    }
}

/// The only move that needs a search: a five of one's own, else the point where the opponent would make one.
bool MoveOrdering::find_forced(int side, std::vector<Move> &moves) const {
    for (const int colour : {side, 1 - side}) {
        if (options_.forced && position_.count(colour, MAKES_FIVE) > 0) {
            moves.push_back({position_.find(colour, MAKES_FIVE), 0});
            return true;
        }
    }
    return false;
}

/// Whether the opponent threatens an open four or a double four that `side` cannot forestall with one of its own.
bool MoveOrdering::must_answer(int side) const {
    return options_.forced && position_.count(side, WIN_FOUR) == 0 && position_.count(1 - side, WIN_FOUR) > 0;
}

/// What a stone here is worth to either side, one's own gain counting more; and what earlier searches say of the move.
int MoveOrdering::key(int side, int cell, int preferred, int ply) const {
    const int other = 1 - side;
    int key = 2 * position_.value(side, cell) + position_.value(other, cell) +
              OWN_CLASS_KEY * position_.point_class(side, cell) + OTHER_CLASS_KEY * position_.point_class(other, cell) +
              std::min(history_[side][cell], MOST_HISTORY_KEY);
    if (cell == preferred) {
        key += PREFERRED_KEY;
    } else if (cell == killers_[ply][0] || cell == killers_[ply][1]) {
        key += KILLER_KEY;
    }
    return key;
}
