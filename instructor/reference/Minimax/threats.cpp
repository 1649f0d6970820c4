#include "threats.h"

#include <algorithm>

namespace {

constexpr int VCF_NODES = 100;     // at each attacking step of a VCT
constexpr int ANSWER_NODES = 500;  // for a VCF of the side that is threatened
constexpr int MOST_THREATS = 12;   // before the fours

}  // namespace

int ThreatSearch::find_vcf(int side, int nodes) {
    vcf_nodes_left_ = nodes;
    no_vcf_.clear();
    return winning_four(side);
}

/// The first move of a VCF for `side`, who is to move, or NO_CELL if there is none or the nodes are used up.
int ThreatSearch::winning_four(int side) {
    ++visited_;
    const int other = 1 - side;
    if (position_.count(side, MAKES_FIVE) > 0) {
        return position_.find(side, MAKES_FIVE);
    }
    const int to_stop = position_.count(other, MAKES_FIVE);
    if (to_stop > 1) {
        return NO_CELL;
    }
    if (to_stop == 0 && position_.count(side, WIN_FOUR) > 0) {
        return position_.find(side, WIN_FOUR);
    }
    if (position_.count(side, MAKES_FOUR) + position_.count(side, FOUR_THREE) + position_.count(side, WIN_FOUR) == 0) {
        return NO_CELL;
    }
    const std::uint64_t hash = position_.hash(side);
    if (--vcf_nodes_left_ <= 0 || no_vcf_.count(hash) > 0) {
        return NO_CELL;
    }
    const int forced = to_stop == 1 ? position_.find(other, MAKES_FIVE) : NO_CELL;
    for (const PointClass wanted : {WIN_FOUR, FOUR_THREE, MAKES_FOUR}) {
        if (position_.count(side, wanted) == 0) {
            continue;
        }
        for (const int cell : position_.points()) {
            if (position_.is_empty(cell) && position_.point_class(side, cell) == wanted &&
                (forced == NO_CELL || cell == forced) && wins_after_four(side, cell)) {
                return cell;
            }
        }
    }
    no_vcf_.insert(hash);
    return NO_CELL;
}

/// Whether the four that `side` makes here wins: it has two fives to make, or goes on with a VCF after the only answer. It does
/// not if the opponent can make a five first.
bool ThreatSearch::wins_after_four(int side, int cell) {
    const int other = 1 - side;
    bool wins = false;
    position_.put(cell, side);
    const int fives = position_.count(side, MAKES_FIVE);
    if (fives > 0 && position_.count(other, MAKES_FIVE) == 0) {
        wins = fives > 1;
        if (!wins) {
            const int answer = position_.find(side, MAKES_FIVE);
            position_.put(answer, other);
            wins = winning_four(side) != NO_CELL;
            position_.take(answer);
        }
    }
    position_.take(cell);
    return wins;
}

int ThreatSearch::find_vct(int side, int nodes) {
    stop_at_ = visited_ + static_cast<std::uint64_t>(nodes);
    no_vct_.clear();
    for (int threats = 1; threats <= MOST_THREATS && visited_ < stop_at_; ++threats) {
        const int cell = winning_threat(side, threats);
        if (cell != NO_CELL) {
            return cell;
        }
    }
    return NO_CELL;
}

/// The first move of a win by at most so many threats and a VCF after them, for `side`, who is to move; or NO_CELL.
int ThreatSearch::winning_threat(int side, int threats) {
    const int other = 1 - side;
    const int four = find_vcf(side, VCF_NODES);
    if (four != NO_CELL) {
        return four;
    }
    const std::uint64_t hash = position_.hash(side);
    const auto known = no_vct_.find(hash);
    if (threats == 0 || visited_ >= stop_at_ || position_.count(other, MAKES_FIVE) > 1 ||
        (known != no_vct_.end() && known->second >= threats)) {
        return NO_CELL;
    }
    std::vector<int> attacks;
    find_attacks(side, attacks);
    for (const int cell : attacks) {
        position_.put(cell, side);
        const bool wins = !holds(other, threats - 1);
        position_.take(cell);
        if (wins) {
            return cell;
        }
        if (visited_ >= stop_at_) {
            return NO_CELL;
        }
    }
    no_vct_[hash] = threats;
    return NO_CELL;
}

/// Whether `side`, who is to move, can answer the threat that has just been made, and up to `threats` more.
bool ThreatSearch::holds(int side, int threats) {
    const int other = 1 - side;
    const int to_stop = position_.count(other, MAKES_FIVE);
    if (position_.count(side, MAKES_FIVE) > 0 || (to_stop == 0 && need_not_answer(side))) {
        return true;
    }
    if (to_stop > 1) {
        return false;
    }
    std::vector<int> defences;
    find_defences(side, defences);
    for (const int cell : defences) {
        position_.put(cell, side);
        const bool held = winning_threat(other, threats) == NO_CELL;
        position_.take(cell);
        if (held) {
            return true;
        }
    }
    return false;
}

/// Whether `side`, who has no five to stop, need not answer: no open four threatens, or its own VCF is faster. If the nodes run
/// out before that is clear the answer is yes, since a win must be proven.
bool ThreatSearch::need_not_answer(int side) {
    return position_.count(1 - side, WIN_FOUR) == 0 || find_vcf(side, ANSWER_NODES) != NO_CELL || vcf_nodes_left_ <= 0;
}

/// Moves that make at least an open three, the strongest first; while the opponent threatens a five, only the move that stops
/// it.
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

/// All answers to a four or an open three: the points that extend it, and fours of one's own.
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
