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
    placed_.push_back({cell, changes_.size(), counts_, values_});
    tally(cell, -1);
    stone_[cell] = static_cast<std::uint8_t>(colour);
    flip_keys(cell, colour, 1, [this](int neighbour, int direction) { refresh(neighbour, direction); });
    hash_ ^= stone_key_[colour][cell];
    ++stones_;
}

void Position::take(int cell) {
    const int colour = stone_[cell];
    stone_[cell] = EMPTY;
    if (!placed_.empty() && placed_.back().cell == cell) {
        flip_keys(cell, colour, -1, [](int, int) {});
        undo(placed_.back());
        placed_.pop_back();
    } else {
        flip_keys(cell, colour, -1, [this](int neighbour, int direction) { refresh(neighbour, direction); });
        for (int direction = 0; direction < 4; ++direction) {
            set_patterns(cell, direction);  // not updated while a stone was here
        }
        tally(cell, 1);
        placed_.clear();
        changes_.clear();
    }
    hash_ ^= stone_key_[colour][cell];
    --stones_;
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

/// Enter a stone in the keys of its neighbours or remove it, and visit each of them with the direction of its line.
template <typename Visit>
void Position::flip_keys(int cell, int colour, int near_change, const Visit &visit) {
    const int flip = code_of(colour);
    for (int direction = 0; direction < 4; ++direction) {
        for (int k = 1; k <= MARGIN; ++k) {
            // This cell is k ahead of the neighbour behind it, and k behind the one ahead.
            const int behind = cell - k * DIRECTIONS[direction];
            const int ahead = cell + k * DIRECTIONS[direction];
            key_[behind][direction] ^= static_cast<std::uint16_t>(flip << (2 * (MARGIN + k - 1)));
            key_[ahead][direction] ^= static_cast<std::uint16_t>(flip << (2 * (MARGIN - k)));
            visit(behind, direction);
            visit(ahead, direction);
            if (k <= 2) {
                near_[behind] = static_cast<std::uint8_t>(near_[behind] + near_change);
                near_[ahead] = static_cast<std::uint8_t>(near_[ahead] + near_change);
            }
        }
    }
}

/// Restore what the last stone changed.
void Position::undo(const Placed &last) {
    for (; changes_.size() > last.first_change; changes_.pop_back()) {
        const Change &change = changes_.back();
        pattern_[change.cell][change.direction] = change.patterns;
        lines_[0][change.cell] = change.lines[0];
        lines_[1][change.cell] = change.lines[1];
    }
    counts_ = last.counts;
    values_ = last.values;
}

/// Update one line of a point, and the sums, if the point is empty.
void Position::refresh(int cell, int direction) {
    if (stone_[cell] != EMPTY) {
        return;
    }
    PatternPair &before = pattern_[cell][direction];
    const PatternPair now = PATTERNS_OF_KEY[key_[cell][direction]];
    if (now == before) {
        return;
    }
    changes_.push_back(
        {static_cast<std::int16_t>(cell), static_cast<std::int16_t>(direction), before, {lines_[0][cell], lines_[1][cell]}});
    for (int colour = 0; colour < 2; ++colour) {
        if (now[colour] != before[colour]) {
            const PointWorth &old_worth = worth(colour, cell);
            add_to_line(colour, cell, direction, now[colour] - before[colour]);
            const PointWorth &new_worth = worth(colour, cell);
            counts_[colour] += one_of(new_worth.point_class) - one_of(old_worth.point_class);
            values_[colour] += new_worth.value - old_worth.value;
        }
    }
    before = now;
}

/// Set the patterns of one line of a point from its key.
void Position::set_patterns(int cell, int direction) {
    PatternPair &before = pattern_[cell][direction];
    const PatternPair now = PATTERNS_OF_KEY[key_[cell][direction]];
    for (int colour = 0; colour < 2; ++colour) {
        add_to_line(colour, cell, direction, now[colour] - before[colour]);
    }
    before = now;
}

/// Change the number of one line's pattern for one colour.
void Position::add_to_line(int colour, int cell, int direction, int difference) {
    std::uint16_t &lines = lines_[colour][cell];
    lines = static_cast<std::uint16_t>(lines + difference * LINE_WEIGHT[direction]);
}

/// Add an empty point to the sums (sign 1) or subtract it (sign -1).
void Position::tally(int cell, int sign) {
    for (int colour = 0; colour < 2; ++colour) {
        const PointWorth &point = worth(colour, cell);
        counts_[colour] += sign > 0 ? one_of(point.point_class) : -one_of(point.point_class);
        values_[colour] += sign * point.value;
    }
}
