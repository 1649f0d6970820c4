// The position of the UCT rungs: a 15x15 board, stored as the bits of its lines.
//
// Each colour has one 16-bit word for every row, column, diagonal and antidiagonal. The four words that meet at a point fit
// into one 64-bit word, and the unused sixteenth bit of each keeps them apart: six operations tell whether a stone made five.

#ifndef MCTS_BASELINES_POSITION_H
#define MCTS_BASELINES_POSITION_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace mcts {

constexpr int SIZE = 15;
constexpr int POINTS = SIZE * SIZE;  // point = x * SIZE + y
// Candidates are at most this many rows and columns away from some stone. The rungs have to be weaker than the baseline: with a
// reach of 3, plain UCT won 1 of 20 games against it with 100000 simulations, 4 of 12 with 400000 and 5 of 12 with 800000. A
// reach of 1 beats 3 in most games and made the rungs as strong as the baseline.
constexpr int REACH = 3;
constexpr int BLACK = 0;
constexpr int WHITE = 1;

using Point = std::uint8_t;
using PointSet = std::array<std::uint64_t, 4>;  // point p is bit p % 64 of word p / 64

/// Where a point is: the number of each line through it, and its bit in the row and in the other three lines.
struct Place {
    std::uint8_t row, column, diagonal, antidiagonal;
    std::uint16_t row_bit, other_bit;
};

constexpr int LINES = 2 * SIZE + 2 * (2 * SIZE - 1);

struct Geometry {
    std::array<Place, POINTS> place{};
    std::array<PointSet, POINTS> near{};

    constexpr Geometry() {
        for (int x = 0; x < SIZE; ++x) {
            for (int y = 0; y < SIZE; ++y) {
                const int point = x * SIZE + y;
                place[point] = {static_cast<std::uint8_t>(x),
                                static_cast<std::uint8_t>(SIZE + y),
                                static_cast<std::uint8_t>(2 * SIZE + SIZE - 1 + x - y),
                                static_cast<std::uint8_t>(4 * SIZE - 1 + x + y),
                                static_cast<std::uint16_t>(1 << y),
                                static_cast<std::uint16_t>(1 << x)};
                for (int i = std::max(0, x - REACH); i <= std::min(SIZE - 1, x + REACH); ++i) {
                    for (int j = std::max(0, y - REACH); j <= std::min(SIZE - 1, y + REACH); ++j) {
                        const int neighbour = i * SIZE + j;
                        near[point][neighbour / 64] |= std::uint64_t{1} << neighbour % 64;
                    }
                }
            }
        }
    }
};

inline constexpr Geometry GEOMETRY;

/// Stones, side to move and candidates. It holds no pointers, since every simulation copies it.
class Position {
   public:
    int side_to_move() const { return side_; }
    int stones() const { return stones_; }

    /// Candidates are the empty points within REACH of a stone, in no particular order. Only an empty and a full board have
    /// none. A point that makes five is always among them, since it touches the four.
    int candidate_count() const { return count_; }
    Point candidate(int index) const { return candidates_[index]; }

    bool is_empty(Point point) const {
        const Place &at = GEOMETRY.place[point];
        return ((lines_[BLACK][at.row] | lines_[WHITE][at.row]) & at.row_bit) == 0;
    }

    /// Whether a stone of `colour` on this empty point would make five or more.
    bool makes_five(Point point, int colour) const {
        const Place &at = GEOMETRY.place[point];
        return has_five(packed(lines_[colour], at) | packed_bits(at));
    }

    /// Play for the side to move. Returns whether that makes five.
    bool play(Point point) {
        const auto end = candidates_.begin() + count_;
        const auto found = std::find(candidates_.begin(), end, point);
        if (found != end) {
            *found = candidates_[--count_];
        } else {  // far from every stone, like the first stone of a game
            listed_[point / 64] |= std::uint64_t{1} << point % 64;
        }
        return put(point);
    }

    /// Play the candidate at this index. Rollouts use this, since it needs no search for the point.
    bool play_candidate(int index) {
        const Point point = candidates_[index];
        candidates_[index] = candidates_[--count_];
        return put(point);
    }

    /// The swap: every stone changes colour, and the other side is to move.
    void swap_colours() {
        std::swap(lines_[BLACK], lines_[WHITE]);
        side_ ^= 1;
    }

   private:
    using Lines = std::array<std::uint16_t, LINES>;

    static std::uint64_t packed(const Lines &lines, const Place &at) {
        return lines[at.row] | std::uint64_t{lines[at.column]} << 16 | std::uint64_t{lines[at.diagonal]} << 32 |
               std::uint64_t{lines[at.antidiagonal]} << 48;
    }

    static std::uint64_t packed_bits(const Place &at) { return at.row_bit | at.other_bit * 0x0001'0001'0001'0000U; }

    static bool has_five(std::uint64_t lines) {
        const std::uint64_t two = lines & lines >> 1;
        return (two & two >> 2 & lines >> 4) != 0;
    }

    bool put(Point point) {
        Lines &own = lines_[side_];
        const Place &at = GEOMETRY.place[point];
        own[at.row] |= at.row_bit;
        own[at.column] |= at.other_bit;
        own[at.diagonal] |= at.other_bit;
        own[at.antidiagonal] |= at.other_bit;
        side_ ^= 1;
        ++stones_;
        const PointSet &near = GEOMETRY.near[point];
        for (int word = 0; word < 4; ++word) {
            std::uint64_t fresh = near[word] & ~listed_[word];
            listed_[word] |= fresh;
            for (; fresh != 0; fresh &= fresh - 1) {
                candidates_[count_++] = static_cast<Point>(64 * word + __builtin_ctzll(fresh));
            }
        }
        return has_five(packed(own, at));
    }

    std::array<Lines, 2> lines_{};
    PointSet listed_{};  // points that are or were candidates, so that none is listed twice
    std::array<Point, POINTS> candidates_{};
    int count_ = 0;
    int stones_ = 0;
    int side_ = BLACK;
};

}  // namespace mcts

#endif
