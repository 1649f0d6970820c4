#include "threats.h"

int ThreatSearch::winning_move(int side, int nodes) {
    left_ = nodes;
    failed_.clear();
    int first = NO_CELL;
    return wins(side, first) ? first : NO_CELL;
}

bool ThreatSearch::wins(int side, int &first) {
    ++visited_;
    const int other = 1 - side;
    if (position_.count(side, MAKES_FIVE) > 0) {
        first = position_.find(side, MAKES_FIVE);
        return true;
    }
    const int threatened = position_.count(other, MAKES_FIVE);
    if (threatened > 1) {
        return false;
    }
    if (threatened == 0 && position_.count(side, WIN_FOUR) > 0) {
        first = position_.find(side, WIN_FOUR);
        return true;
    }
    if (position_.count(side, MAKES_FOUR) + position_.count(side, FOUR_THREE) + position_.count(side, WIN_FOUR) == 0) {
        return false;
    }
    const std::uint64_t hash = position_.hash(side);
    if (--left_ <= 0 || failed_.count(hash) > 0) {
        return false;
    }
    const int forced = threatened == 1 ? position_.find(other, MAKES_FIVE) : NO_CELL;
    for (const PointClass wanted : {WIN_FOUR, FOUR_THREE, MAKES_FOUR}) {
        if (position_.count(side, wanted) == 0) {
            continue;
        }
        for (const int cell : position_.points()) {
            if (!position_.is_empty(cell) || position_.point_class(side, cell) != wanted ||
                (forced != NO_CELL && cell != forced)) {
                continue;
            }
            position_.put(cell, side);
            const int answer = position_.find(side, MAKES_FIVE);
            bool won = position_.count(side, MAKES_FIVE) > 1 && position_.count(other, MAKES_FIVE) == 0;
            if (!won && answer != NO_CELL) {
                // The four must be stopped at once; whoever could make a five instead has won by it.
                if (position_.count(other, MAKES_FIVE) == 0) {
                    int ignored = NO_CELL;
                    position_.put(answer, other);
                    won = wins(side, ignored);
                    position_.take(answer);
                }
            }
            position_.take(cell);
            if (won) {
                first = cell;
                return true;
            }
        }
    }
    failed_.insert(hash);
    return false;
}
