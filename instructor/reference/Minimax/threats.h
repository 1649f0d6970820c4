// Threat-space search (Allis 1994): wins in which every attacking move leaves the opponent only a few answers. The tree is
// narrow, so the search goes deep, and a win that it finds is proven.

#ifndef THREATS_H
#define THREATS_H

#include <cstdint>
#include <vector>

#include "clock.h"
#include "position.h"

class ThreatSearch {
   public:
    explicit ThreatSearch(Position &position) : position_(position), entries_(SIZE_OF_TABLE) {}

    /// Give up every search as soon as this clock, which must outlive them, says that the time is over.
    void obey(const Clock &clock);

    /// Victory by continuous fours (VCF): the first move of a win for `side`, who is to move, or NO_CELL. Gives up after
    /// `nodes` positions.
    int find_vcf(int side, int nodes);

    /// Victory by continuous threats (VCT): the same with open threes among the attacking moves. Searches for longer and longer
    /// wins until it has visited `nodes` positions.
    int find_vct(int side, int nodes);

    /// Positions visited since the object was made.
    std::uint64_t nodes() const { return visited_; }

   private:
    /// What earlier searches found out about a position, whichever of their moves led to it.
    struct Entry {
        std::uint64_t hash = 0;
        std::int32_t vcf_nodes = 0;        // no VCF was found in this many nodes; EVERY_NODE if there is none
        std::int16_t vcf_cell = NO_CELL;   // first move of a VCF
        std::int16_t no_vct_of = NOTHING;  // there is no VCT of at most this many threats
    };
    static constexpr std::size_t SIZE_OF_TABLE = std::size_t{1} << 16;
    static constexpr std::int16_t NOTHING = -1;

    Entry &entry_of(std::uint64_t hash);
    bool is_late();
    int winning_four(int side);
    int first_winning_four(int side);
    bool wins_after_four(int side, int cell);
    int winning_threat(int side, int threats);
    bool holds(int side, int threats);
    bool need_not_answer(int side);
    void find_attacks(int side, std::vector<int> &cells) const;
    void find_defences(int side, std::vector<int> &cells) const;

    Position &position_;
    std::vector<Entry> entries_;  // one for each remainder of a hash; a new one always replaces the old one
    const Clock *clock_ = nullptr;
    std::uint64_t next_check_ = 0;  // of the clock, when `visited_` reaches it
    bool is_late_ = false;
    int vcf_nodes_left_ = 0;
    bool vcf_gave_up_ = false;  // so that no answer means nothing
    std::uint64_t visited_ = 0;
    std::uint64_t stop_at_ = 0;  // value of `visited_` that ends the VCT
};

#endif
