// Threat-space search (Allis 1994): wins in which every attacking move leaves the opponent a few answers at most, so that the
// search is narrow, goes deep, and a win that it finds is proven.

#ifndef THREATS_H
#define THREATS_H

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "position.h"

class ThreatSearch {
   public:
    explicit ThreatSearch(Position &position) : position_(position) {}

    /// Victory by continuous fours (VCF): the first move of a win for `side`, who is to move, or NO_CELL. At most `nodes`
    /// positions are looked at.
    int winning_move(int side, int nodes);

    /// Victory by continuous threats (VCT): the same, with open threes among the attacking moves. Deeper and deeper, until
    /// `nodes` positions have been looked at.
    int winning_threat(int side, int nodes);

    std::uint64_t nodes() const { return visited_; }

   private:
    bool wins(int side, int &first);
    bool wins_by_threats(int side, int threats, int &first);
    bool holds(int side, int threats);
    void find_attacks(int side, std::vector<int> &cells) const;
    void find_defences(int side, std::vector<int> &cells) const;

    Position &position_;
    std::unordered_set<std::uint64_t> failed_;
    std::unordered_map<std::uint64_t, int> held_;  // by so many threats at least
    int left_ = 0;
    std::uint64_t visited_ = 0;
    std::uint64_t stop_at_ = 0;
};

#endif
