// The board, with all that the search reads of it, updated stone by stone.

#ifndef POSITION_H
#define POSITION_H

#include <array>
#include <cstdint>
#include <vector>

#include "patterns.h"

#ifndef BOARD_SIZE  // the teacher (instructor/teacher) has boards of other sizes
#define BOARD_SIZE 15
#endif

constexpr int SIZE = BOARD_SIZE;
constexpr int MARGIN = 4;  // a rim as wide as a pattern reaches: lines need no bounds checks
constexpr int ROW = SIZE + 2 * MARGIN;
constexpr int CELLS = ROW * ROW;
constexpr int NO_CELL = 0;

inline int cell_of(int x, int y) { return (x + MARGIN) * ROW + y + MARGIN; }
inline int x_of(int cell) { return cell / ROW - MARGIN; }
inline int y_of(int cell) { return cell % ROW - MARGIN; }

/// The stones of both colours, 0 (black) and 1 (white).
///
/// Invariants: the keys of every cell match its neighbours; `pattern_` and `lines_` of every empty point tell what a stone of
/// each colour would make there; `counts_` and `values_` are sums over the empty points; `hash_` is the Zobrist key of the
/// stones.
class Position {
   public:
    Position();

    void put(int cell, int colour);
    void take(int cell);
    void swap_colours();

    bool is_empty(int cell) const { return stone_[cell] == EMPTY; }
    int stones() const { return stones_; }
    bool is_full() const { return stones_ == SIZE * SIZE; }
    std::uint64_t hash(int side_to_move) const { return hash_ ^ (side_to_move ? side_key_ : 0); }

    /// What a stone of this colour on an empty point would make of one of its four lines.
    int pattern(int colour, int cell, int direction) const { return pattern_[cell][direction][colour]; }
    PointClass point_class(int colour, int cell) const { return worth(colour, cell).point_class; }
    /// How many points are of this class for a colour.
    int count(int colour, PointClass wanted) const { return counts_[colour] >> (COUNT_BITS * wanted) & MOST_COUNTED; }
    /// The first point of this class for a colour, NO_CELL if there is none.
    int find(int colour, PointClass wanted) const;
    /// The sum of the pattern values of a point for a colour.
    int value(int colour, int cell) const { return worth(colour, cell).value; }
    /// The same over the whole board.
    int values(int colour) const { return values_[colour]; }
    /// Whether some stone is at most two points away along a line.
    bool is_near(int cell) const { return near_[cell] > 0; }
    const std::vector<int> &points() const { return points_; }
    int stone(int cell) const { return stone_[cell]; }

    static constexpr int EMPTY = 2;
    static constexpr int RIM = 3;

   private:
    static constexpr int COUNT_BITS = 8;
    static constexpr int MOST_COUNTED = (1 << COUNT_BITS) - 1;
    static_assert(SIZE * SIZE <= MOST_COUNTED && COUNT_BITS * CLASSES <= 64);

    void draw_keys();
    /// A line of a point before a stone changed its patterns.
    struct Change {
        std::int16_t cell;
        std::int16_t direction;
        PatternPair patterns;
        std::array<std::uint16_t, 2> lines;
    };
    /// A stone, and the sums before it was put down.
    struct Placed {
        int cell;
        std::size_t first_change;
        std::array<std::uint64_t, 2> counts;
        std::array<int, 2> values;
    };

    template <typename Visit>
    void flip_keys(int cell, int colour, int near_change, const Visit &visit);
    void undo(const Placed &last);
    void refresh(int cell, int direction);
    void set_patterns(int cell, int direction);
    void add_to_line(int colour, int cell, int direction, int difference);
    void tally(int cell, int sign);
    static std::uint64_t one_of(PointClass point_class) { return std::uint64_t{1} << (COUNT_BITS * point_class); }
    const PointWorth &worth(int colour, int cell) const { return WORTH_OF_LINES[lines_[colour][cell]]; }

    std::array<std::uint8_t, CELLS> stone_;
    std::array<std::array<std::uint16_t, 4>, CELLS> key_;  // of PATTERNS_OF_KEY, one for each line
    std::array<std::array<PatternPair, 4>, CELLS> pattern_;
    std::array<std::array<std::uint16_t, CELLS>, 2> lines_;  // index into WORTH_OF_LINES
    std::array<std::uint64_t, 2> counts_;  // the count of each class takes COUNT_BITS bits, so that one addition changes two
    std::array<int, 2> values_;
    std::array<std::uint8_t, CELLS> near_;
    std::array<std::array<std::uint64_t, CELLS>, 2> stone_key_;
    std::uint64_t side_key_;
    std::uint64_t hash_ = 0;
    int stones_ = 0;
    std::vector<int> points_;
    std::vector<Placed> placed_;   // the last stones, if they are taken back in turn: what to restore
    std::vector<Change> changes_;  // by these stones
};

#endif
