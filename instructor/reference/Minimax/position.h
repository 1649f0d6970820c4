// The board with everything the search asks of it, kept up to date stone by stone.

#ifndef POSITION_H
#define POSITION_H

#include <array>
#include <cstdint>
#include <vector>

#include "patterns.h"

constexpr int SIZE = 15;
constexpr int MARGIN = 4;  // a rim as wide as a pattern reaches, so that no line needs bounds
constexpr int ROW = SIZE + 2 * MARGIN;
constexpr int CELLS = ROW * ROW;
constexpr int NO_CELL = 0;

inline int cell_of(int x, int y) { return (x + MARGIN) * ROW + y + MARGIN; }
inline int x_of(int cell) { return cell / ROW - MARGIN; }
inline int y_of(int cell) { return cell % ROW - MARGIN; }

/// Colours 0 (black) and 1 (white). Invariant: for every empty point and colour, patterns, class and value are those of a
/// stone of that colour there; `counts` and `values` are their sums over the board.
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

    PointClass point_class(int colour, int cell) const { return static_cast<PointClass>(class_[colour][cell]); }
    std::uint8_t pattern(int colour, int cell, int direction) const { return pattern_[colour][cell][direction]; }
    /// Points of a class for a colour.
    int count(int colour, PointClass wanted) const { return counts_[colour][wanted]; }
    /// Some point of a class; only where count() is not 0.
    int find(int colour, PointClass wanted) const;
    /// Sum of the pattern values of a point for a colour.
    int value(int colour, int cell) const { return value_[colour][cell]; }
    /// The same over the whole board.
    int values(int colour) const { return values_[colour]; }
    /// Whether a stone lies within two points.
    bool is_near(int cell) const { return near_[cell] > 0; }
    const std::vector<int> &points() const { return points_; }
    int stone(int cell) const { return stone_[cell]; }

    static constexpr int EMPTY = 2;
    static constexpr int RIM = 3;

  private:
    void change(int cell, int to);
    void refresh(int cell, int direction);
    void reclassify(int cell, int colour);

    std::array<std::uint8_t, CELLS> stone_;
    std::array<std::array<std::uint32_t, 4>, CELLS> key_;  // neighbours on each line, two bits each, as in patterns.h
    std::array<std::array<std::array<std::uint8_t, 4>, CELLS>, 2> pattern_;
    std::array<std::array<std::uint8_t, CELLS>, 2> class_;
    std::array<std::array<std::int16_t, CELLS>, 2> value_;
    std::array<std::array<int, CLASSES>, 2> counts_;
    std::array<int, 2> values_;
    std::array<std::uint8_t, CELLS> near_;
    std::array<std::array<std::uint64_t, CELLS>, 2> stone_key_;
    std::uint64_t side_key_;
    std::uint64_t hash_ = 0;
    int stones_ = 0;
    std::vector<int> points_;
};

#endif
