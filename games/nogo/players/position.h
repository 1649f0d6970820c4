// A NoGo position with the liberties of its chains.
//
// NoGo is played with the stones and chains of Go. A move after which any chain, of either colour, has no liberty is illegal,
// and so is a pass; a player without a legal move loses. Stones are never removed, so three things hold all game long:
//
// - Chains only grow, and union-find finds a stone's chain.
// - A chain's pseudo-liberties (pairs of a stone and an empty point beside it) change only when a stone is placed beside it.
//   They are all the same point if and only if their number n, their sum s and the sum of their squares q satisfy n q = s s
//   (Cauchy and Schwarz).
// - A move that is illegal for a colour stays illegal for it: the liberty in question can be filled by nothing but that move
//   and the opponent's move there. So an illegal move may be dropped from a list for good.

#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace nogo {

constexpr int SMALLEST = 2;
constexpr int LARGEST = 19;
constexpr int STRIDE = LARGEST + 2;
constexpr int CELLS = STRIDE * STRIDE;
constexpr std::array<int, 4> STEPS{1, -1, STRIDE, -STRIDE};

enum Colour : std::uint8_t { BLACK, WHITE, EMPTY, BORDER };

constexpr Colour other(Colour colour) { return colour == BLACK ? WHITE : BLACK; }

/// The cell of column x and row y, both from 0; a border of one cell surrounds the board.
using Cell = std::uint16_t;

constexpr Cell cell_at(int x, int y) { return static_cast<Cell>((y + 1) * STRIDE + x + 1); }
constexpr int column_of(Cell cell) { return cell % STRIDE - 1; }
constexpr int row_of(Cell cell) { return cell / STRIDE - 1; }

class Position {
   public:
    explicit Position(int size) : size_(size) {
        colour_.fill(BORDER);
        for (int y = 0; y < size; ++y) {
            for (int x = 0; x < size; ++x) {
                colour_[cell_at(x, y)] = EMPTY;
            }
        }
    }

    int size() const { return size_; }
    Colour at(Cell cell) const { return colour_[cell]; }

    /// Whether a stone of this colour may be placed on the cell.
    bool is_legal(Cell cell, Colour colour) const {
        if (colour_[cell] != EMPTY) {
            return false;
        }
        bool has_liberty = false;
        for (const int step : STEPS) {
            const auto beside = static_cast<Cell>(cell + step);
            const Colour there = colour_[beside];
            if (there == EMPTY) {
                has_liberty = true;
            } else if (there != BORDER) {
                const bool is_last = chain_[root_of(beside)].has_one_liberty();
                if (there != colour && is_last) {
                    return false;
                }
                has_liberty = has_liberty || (there == colour && !is_last);
            }
        }
        return has_liberty;
    }

    /// Place a stone; the move must be legal.
    void play(Cell cell, Colour colour) {
        colour_[cell] = colour;
        parent_[cell] = cell;
        chain_[cell] = Liberties{};
        for (const int step : STEPS) {
            const auto beside = static_cast<Cell>(cell + step);
            if (colour_[beside] == EMPTY) {
                chain_[cell].add(beside);
            } else if (colour_[beside] != BORDER) {
                chain_[root_of(beside)].remove(cell);
            }
        }
        for (const int step : STEPS) {
            const auto beside = static_cast<Cell>(cell + step);
            if (colour_[beside] == colour) {
                join(root_of(beside), root_of(cell));
            }
        }
    }

    /// All legal moves of a colour, row by row from the bottom.
    std::vector<Cell> legal_moves(Colour colour) const {
        std::vector<Cell> moves;
        for (int y = 0; y < size_; ++y) {
            for (int x = 0; x < size_; ++x) {
                if (is_legal(cell_at(x, y), colour)) {
                    moves.push_back(cell_at(x, y));
                }
            }
        }
        return moves;
    }

   private:
    /// The pseudo-liberties of a chain.
    struct Liberties {
        std::int32_t count = 0;
        std::int32_t sum = 0;
        std::int32_t squares = 0;

        void add(Cell cell) {
            ++count;
            sum += cell;
            squares += cell * cell;
        }

        void remove(Cell cell) {
            --count;
            sum -= cell;
            squares -= cell * cell;
        }

        bool has_one_liberty() const {
            return static_cast<std::int64_t>(count) * squares == static_cast<std::int64_t>(sum) * sum;
        }
    };

    Cell root_of(Cell cell) const {
        while (parent_[cell] != cell) {
            parent_[cell] = parent_[parent_[cell]];
            cell = parent_[cell];
        }
        return cell;
    }

    void join(Cell one, Cell two) {
        if (one == two) {
            return;
        }
        parent_[two] = one;
        chain_[one].count += chain_[two].count;
        chain_[one].sum += chain_[two].sum;
        chain_[one].squares += chain_[two].squares;
    }

    int size_;
    std::array<Colour, CELLS> colour_;
    mutable std::array<Cell, CELLS> parent_{};  // root_of shortens paths, which changes no chain
    std::array<Liberties, CELLS> chain_{};      // valid at the root of each chain
};

/// The cells on which a colour may still have a legal move. Illegal ones are dropped when they are drawn.
class Candidates {
   public:
    Candidates(const Position &position, Colour colour) : colour_(colour) {
        for (const Cell cell : position.legal_moves(colour)) {
            place_[cell] = count_;
            cells_[count_++] = cell;
        }
    }

    /// A legal move, uniformly at random, or 0 if there is none. Draws are numbers in [0, n) from `below(n)`.
    template <typename Random>
    Cell draw(const Position &position, Random &random) {
        while (count_ > 0) {
            const Cell cell = cells_[random.below(count_)];
            if (position.is_legal(cell, colour_)) {
                return cell;
            }
            drop(cell);
        }
        return 0;
    }

    /// Drop a cell, if it is still there.
    void drop(Cell cell) {
        const int place = place_[cell];
        if (place >= count_ || cells_[place] != cell) {
            return;
        }
        const Cell last = cells_[--count_];
        cells_[place] = last;
        place_[last] = static_cast<std::uint16_t>(place);
    }

   private:
    Colour colour_;
    std::uint16_t count_ = 0;
    std::array<Cell, LARGEST * LARGEST> cells_{};
    std::array<std::uint16_t, CELLS> place_{};
};

}  // namespace nogo
