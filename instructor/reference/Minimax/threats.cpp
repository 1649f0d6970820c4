#include "threats.h"

#include <algorithm>

namespace {

constexpr int VCF_NODES = 100;     // at each step of a search for threats
constexpr int ANSWER_NODES = 500;  // for the fours of the side that is threatened
constexpr int MOST_THREATS = 12;   // before the fours

}  // namespace

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

int ThreatSearch::winning_threat(int side, int nodes) {
    stop_at_ = visited_ + static_cast<std::uint64_t>(nodes);
    held_.clear();
    int first = NO_CELL;
    for (int threats = 1; threats <= MOST_THREATS && visited_ < stop_at_; ++threats) {
        if (wins_by_threats(side, threats, first)) {
            return first;
        }
    }
    return NO_CELL;
}

/// Whether `side`, who is to move, wins by at most so many threats before the fours.
bool ThreatSearch::wins_by_threats(int side, int threats, int &first) {
    const int other = 1 - side;
    first = winning_move(side, VCF_NODES);
    if (first != NO_CELL) {
        return true;
    }
    const std::uint64_t hash = position_.hash(side);
    const auto known = held_.find(hash);
    if (threats == 0 || visited_ >= stop_at_ || position_.count(other, MAKES_FIVE) > 1 ||
        (known != held_.end() && known->second >= threats)) {
        return false;
    }
    std::vector<int> attacks;
    find_attacks(side, attacks);
    for (const int cell : attacks) {
        position_.put(cell, side);
        const bool won = !holds(other, threats - 1);
        position_.take(cell);
        if (won) {
            first = cell;
            return true;
        }
        if (visited_ >= stop_at_) {
            return false;
        }
    }
    held_[hash] = threats;
    return false;
}

/// Whether `side`, who is to move, has an answer to the threat that has just been made (and to so many more).
bool ThreatSearch::holds(int side, int threats) {
    const int other = 1 - side;
    if (position_.count(side, MAKES_FIVE) > 0) {
        return true;
    }
    const int fives = position_.count(other, MAKES_FIVE);
    if (fives == 0) {
        if (position_.count(other, WIN_FOUR) == 0 || winning_move(side, ANSWER_NODES) != NO_CELL) {
            return true;  // that was no threat, or it comes too late
        }
        if (left_ <= 0) {
            return true;  // whether it comes too late is not known, and a win must be proven
        }
    }
    if (fives > 1) {
        return false;
    }
    std::vector<int> defences;
    find_defences(side, defences);
    for (const int cell : defences) {
        int ignored = NO_CELL;
        position_.put(cell, side);
        const bool held = !wins_by_threats(other, threats, ignored);
        position_.take(cell);
        if (held) {
            return true;
        }
    }
    return false;
}

/// Moves that make a three or a four, the greater threat first; a four of the opponent is stopped by nothing else.
void ThreatSearch::find_attacks(int side, std::vector<int> &cells) const {
    const int other = 1 - side;
    if (position_.count(other, MAKES_FIVE) > 0) {
        cells.push_back(position_.find(other, MAKES_FIVE));
        return;
    }
    for (const int cell : position_.points()) {
        if (position_.is_empty(cell) && position_.point_class(side, cell) >= MAKES_THREE) {
            cells.push_back(cell);
        }
    }
    const auto worth = [&](int cell) { return 1000 * position_.point_class(side, cell) + position_.value(side, cell); };
    std::sort(cells.begin(), cells.end(), [&](int a, int b) { return worth(a) > worth(b); });
}

/// All answers to a four or an open three: the points where it grows, and one's own fours.
void ThreatSearch::find_defences(int side, std::vector<int> &cells) const {
    const int other = 1 - side;
    if (position_.count(other, MAKES_FIVE) > 0) {
        cells.push_back(position_.find(other, MAKES_FIVE));
        return;
    }
    for (const int cell : position_.points()) {
        if (position_.is_empty(cell) &&
            (position_.point_class(other, cell) >= MAKES_FOUR || position_.point_class(side, cell) >= MAKES_FOUR)) {
            cells.push_back(cell);
        }
    }
    const auto worth = [&](int cell) { return position_.value(other, cell) + position_.value(side, cell); };
    std::sort(cells.begin(), cells.end(), [&](int a, int b) { return worth(a) > worth(b); });
}
