#include "position.h"

#include <random>
#include <utility>

namespace {

constexpr int DIRECTIONS[4] = {1, ROW, ROW + 1, ROW - 1};

/// The two bits that stand for a neighbour in a key.
int code_of(int stone) { return stone == Position::EMPTY ? 0 : stone == Position::RIM ? 3 : stone + 1; }

}  // namespace

Position::Position() {
    stone_.fill(RIM);
    key_ = {};
    pattern_ = {};
    lines_ = {};
    counts_ = {};
    values_ = {};
    near_ = {};
    draw_keys();
    for (int x = 0; x < SIZE; ++x) {
        for (int y = 0; y < SIZE; ++y) {
            points_.push_back(cell_of(x, y));
            stone_[cell_of(x, y)] = EMPTY;
        }
    }
    for (const int cell : points_) {
        for (int direction = 0; direction < 4; ++direction) {
            for (int k = 1; k <= MARGIN; ++k) {
                const int step = k * DIRECTIONS[direction];
                key_[cell][direction] |= static_cast<std::uint16_t>(code_of(stone_[cell - step]) << (2 * (MARGIN - k)));
                key_[cell][direction] |= static_cast<std::uint16_t>(code_of(stone_[cell + step]) << (2 * (MARGIN + k - 1)));
            }
        }
        tally(cell, 1);
        for (int direction = 0; direction < 4; ++direction) {
            refresh(cell, direction);
        }
    }
}

/// Draw the random numbers of the Zobrist keys.
void Position::draw_keys() {
    std::mt19937_64 generator(20170101);  // fixed: hashes do not depend on the seed of the game
    side_key_ = generator();
    for (auto &keys : stone_key_) {
        for (auto &key : keys) {
            key = generator();
        }
    }
}

void Position::put(int cell, int colour) {
    change(cell, colour);
    hash_ ^= stone_key_[colour][cell];
    ++stones_;
}

void Position::take(int cell) {
    hash_ ^= stone_key_[stone_[cell]][cell];
    --stones_;
    change(cell, EMPTY);
}

void Position::swap_colours() {
    std::vector<std::pair<int, int>> placed;
    for (const int cell : points_) {
        if (stone_[cell] != EMPTY) {
            placed.emplace_back(cell, 1 - stone_[cell]);
            take(cell);
        }
    }
    for (const auto &[cell, colour] : placed) {
        put(cell, colour);
    }
}

int Position::find(int colour, PointClass wanted) const {
    for (const int cell : points_) {
        if (stone_[cell] == EMPTY && point_class(colour, cell) == wanted) {
            return cell;
        }
    }
    return NO_CELL;
}

/// Put a stone on a cell or take it away, and update the lines of its neighbours.
void Position::change(int cell, int to) {
    const bool placing = to != EMPTY;
    if (placing) {
        tally(cell, -1);
    }
    const int flip = code_of(placing ? to : stone_[cell]);
    stone_[cell] = static_cast<std::uint8_t>(to);
    for (int direction = 0; direction < 4; ++direction) {
        for (int k = 1; k <= MARGIN; ++k) {
            // This cell is k ahead of the neighbour behind it, and k behind the one ahead.
            const int behind = cell - k * DIRECTIONS[direction];
            const int ahead = cell + k * DIRECTIONS[direction];
            key_[behind][direction] ^= static_cast<std::uint16_t>(flip << (2 * (MARGIN + k - 1)));
            key_[ahead][direction] ^= static_cast<std::uint16_t>(flip << (2 * (MARGIN - k)));
            refresh(behind, direction);
            refresh(ahead, direction);
            if (k <= 2) {
                near_[behind] += placing ? 1 : -1;
                near_[ahead] += placing ? 1 : -1;
            }
        }
    }
    if (!placing) {
        for (int direction = 0; direction < 4; ++direction) {
            set_patterns(cell, direction);  // not updated while a stone was here
        }
        tally(cell, 1);
    }
}

/// Update one line of a point if the point is empty.
void Position::refresh(int cell, int direction) {
    if (stone_[cell] == EMPTY && pattern_[cell][direction] != PATTERNS_OF_KEY[key_[cell][direction]]) {
        tally(cell, -1);
        set_patterns(cell, direction);
        tally(cell, 1);
    }
}

/// Set the patterns of one line of a point from its key.
void Position::set_patterns(int cell, int direction) {
    PatternPair &before = pattern_[cell][direction];
    const PatternPair now = PATTERNS_OF_KEY[key_[cell][direction]];
    for (int colour = 0; colour < 2; ++colour) {
        lines_[colour][cell] =
            static_cast<std::uint16_t>(lines_[colour][cell] + (now[colour] - before[colour]) * LINE_WEIGHT[direction]);
    }
    before = now;
}

/// Add an empty point to the sums (sign 1) or subtract it (sign -1).
void Position::tally(int cell, int sign) {
    for (int colour = 0; colour < 2; ++colour) {
        const PointWorth &point = worth(colour, cell);
        counts_[colour][point.point_class] += sign;
        values_[colour] += sign * point.value;
    }
}
