// Threat-space search (Allis 1994): wins in which every attacking move leaves the opponent only a few answers. The tree is
// narrow, so the search goes deep, and a win that it finds is proven.

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

    /// Victory by continuous fours (VCF): the first move of a win for `side`, who is to move, or NO_CELL. Gives up after
    /// `nodes` positions.
    int find_vcf(int side, int nodes);

    /// Victory by continuous threats (VCT): the same with open threes among the attacking moves. Searches for longer and longer
    /// wins until it has visited `nodes` positions.
    int find_vct(int side, int nodes);

    /// Positions visited since the object was made.
    std::uint64_t nodes() const { return visited_; }

   private:
    int winning_four(int side);
    bool wins_after_four(int side, int cell);
    int winning_threat(int side, int threats);
    bool holds(int side, int threats);
    bool need_not_answer(int side);
    void find_attacks(int side, std::vector<int> &cells) const;
    void find_defences(int side, std::vector<int> &cells) const;

    Position &position_;
    std::unordered_set<std::uint64_t> no_vcf_;       // positions without a VCF
    std::unordered_map<std::uint64_t, int> no_vct_;  // positions without a VCT of at most so many threats
    int vcf_nodes_left_ = 0;
    std::uint64_t visited_ = 0;
    std::uint64_t stop_at_ = 0;  // value of `visited_` that ends the VCT
};

#endif
