// Victory by continuous fours (VCF): every attacking move makes a four, every answer is forced, so the search is narrow and a
// win that it finds is proven.

#ifndef THREATS_H
#define THREATS_H

#include <cstdint>
#include <unordered_set>

#include "position.h"

class ThreatSearch {
  public:
    explicit ThreatSearch(Position &position) : position_(position) {}

    /// The first move of a win by fours for `side`, who is to move, or NO_CELL. At most `nodes` positions are looked at.
    int winning_move(int side, int nodes);

    std::uint64_t nodes() const { return visited_; }

  private:
    bool wins(int side, int &first);

    Position &position_;
    std::unordered_set<std::uint64_t> failed_;
    int left_ = 0;
    std::uint64_t visited_ = 0;
};

#endif
