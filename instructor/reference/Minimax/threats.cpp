#include "threats.h"

#include <algorithm>
#include <limits>

namespace {

constexpr int VCF_NODES = 100;     // at each attacking step of a VCT
constexpr int ANSWER_NODES = 500;  // for a VCF of the side that is threatened
constexpr int MOST_THREATS = 12;   // before the fours
constexpr int EVERY_NODE = std::numeric_limits<int>::max();
constexpr std::uint64_t NODES_BETWEEN_CHECKS = 256;

}  // namespace

void ThreatSearch::obey(const Clock &clock) {
    clock_ = &clock;
    next_check_ = visited_;
    is_late_ = false;
}

int ThreatSearch::find_vcf(int side, int nodes) {
    vcf_nodes_left_ = nodes;
    vcf_gave_up_ = false;
    return winning_four(side);
}

/// The entry of this position, an empty one if there is none. The next call may overwrite it.
ThreatSearch::Entry &ThreatSearch::entry_of(std::uint64_t hash) {
    Entry &entry = entries_[hash % SIZE_OF_TABLE];
    if (entry.hash != hash) {
        entry = {};
        entry.hash = hash;
    }
    return entry;
}

/// Whether the time is over; the clock is read now and then.
bool ThreatSearch::is_late() {
    if (visited_ >= next_check_) {
        next_check_ = visited_ + NODES_BETWEEN_CHECKS;
        is_late_ = clock_ != nullptr && clock_->is_over();
    }
    return is_late_;
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
    const Entry &known = entry_of(hash);
    if (known.vcf_cell != NO_CELL || known.vcf_nodes == EVERY_NODE) {
        return known.vcf_cell;
    }
    if (known.vcf_nodes >= vcf_nodes_left_ || --vcf_nodes_left_ <= 0 || is_late()) {
        vcf_gave_up_ = true;
        return NO_CELL;
    }
    const int nodes = vcf_nodes_left_;
    const int cell = first_winning_four(side);
    if (!is_late_) {
        Entry &entry = entry_of(hash);
        entry.vcf_cell = static_cast<std::int16_t>(cell);
        entry.vcf_nodes = vcf_gave_up_ ? nodes : EVERY_NODE;
    }
    return cell;
}

/// The first four, the strongest first, after which `side` wins; or NO_CELL.
int ThreatSearch::first_winning_four(int side) {
    if (position_.count(1 - side, MAKES_FIVE) > 0) {
        const int forced = position_.find(1 - side, MAKES_FIVE);
        return position_.point_class(side, forced) >= MAKES_FOUR && wins_after_four(side, forced) ? forced : NO_CELL;
    }
    for (const PointClass wanted : {FOUR_THREE, MAKES_FOUR}) {
        if (position_.count(side, wanted) == 0) {
            continue;
        }
        for (const int cell : position_.points()) {
            if (position_.is_empty(cell) && position_.point_class(side, cell) == wanted && wins_after_four(side, cell)) {
                return cell;
            }
        }
    }
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
    for (int threats = 1; threats <= MOST_THREATS && visited_ < stop_at_ && !is_late_; ++threats) {
        const int cell = winning_threat(side, threats);
        if (cell != NO_CELL) {
            return cell;
        }
    }
    return NO_CELL;
}

/// The first move of a win by at most `threats` threats and a VCF after them, for `side`, who is to move; or NO_CELL.
int ThreatSearch::winning_threat(int side, int threats) {
    const int other = 1 - side;
    const int four = find_vcf(side, VCF_NODES);
    if (four != NO_CELL) {
        return four;
    }
    const std::uint64_t hash = position_.hash(side);
    if (threats == 0 || visited_ >= stop_at_ || is_late_ || position_.count(other, MAKES_FIVE) > 1 ||
        entry_of(hash).no_vct_of >= threats) {
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
        if (visited_ >= stop_at_ || is_late_) {
            return NO_CELL;
        }
    }
    entry_of(hash).no_vct_of = static_cast<std::int16_t>(threats);
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
    return position_.count(1 - side, WIN_FOUR) == 0 || find_vcf(side, ANSWER_NODES) != NO_CELL || vcf_gave_up_;
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
