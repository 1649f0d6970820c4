#include "position.h"

#include <random>
#include <utility>

namespace {

constexpr int DIRECTIONS[4] = {1, ROW, ROW + 1, ROW - 1};

/// Neighbour states in `key_`: 0 empty, 1 black, 2 white, 3 rim. The table wants 1 for the colour that asks, so for white the
/// two stones' codes change places: 1 <-> 2, 0 and 3 stay.
std::uint32_t seen_by(std::uint32_t key, int colour) {
    if (colour == 0) {
        return key;
    }
    return ((key & 0x5555u) << 1) | ((key & 0xAAAAu) >> 1);
}

std::uint32_t code_of(int stone) { return stone == Position::EMPTY ? 0u : stone == Position::RIM ? 3u : stone + 1u; }

}  // namespace

Position::Position() {
    stone_.fill(RIM);
    key_ = {};
    pattern_ = {};
    class_ = {};
    value_ = {};
    counts_ = {};
    values_ = {};
    near_ = {};
    std::mt19937_64 generator(20170101);  // fixed: hashes must not depend on the game's seed
    side_key_ = generator();
    for (auto &keys : stone_key_) {
        for (auto &key : keys) {
            key = generator();
        }
    }
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
                key_[cell][direction] |= code_of(stone_[cell - step]) << (2 * (MARGIN - k));
                key_[cell][direction] |= code_of(stone_[cell + step]) << (2 * (MARGIN + k - 1));
            }
        }
    }
    for (const int cell : points_) {
        for (int colour = 0; colour < 2; ++colour) {
            ++counts_[colour][class_[colour][cell]];
        }
        for (int direction = 0; direction < 4; ++direction) {
            refresh(cell, direction);
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
        if (stone_[cell] == EMPTY && class_[colour][cell] == wanted) {
            return cell;
        }
    }
    return NO_CELL;
}

/// Change what lies on a cell, and with it the lines of its neighbours. Counts and values run over empty points only.
void Position::change(int cell, int to) {
    const bool placing = to != EMPTY;
    for (int colour = 0; colour < 2; ++colour) {
        const int sign = placing ? -1 : 1;
        counts_[colour][class_[colour][cell]] += sign;
        values_[colour] += sign * value_[colour][cell];
    }
    const std::uint32_t flip = code_of(placing ? to : stone_[cell]);
    stone_[cell] = static_cast<std::uint8_t>(to);
    for (int direction = 0; direction < 4; ++direction) {
        for (int k = 1; k <= MARGIN; ++k) {
            // From a neighbour behind, this cell lies k ahead, and the other way round.
            const int behind = cell - k * DIRECTIONS[direction];
            const int ahead = cell + k * DIRECTIONS[direction];
            key_[behind][direction] ^= flip << (2 * (MARGIN + k - 1));
            key_[ahead][direction] ^= flip << (2 * (MARGIN - k));
            refresh(behind, direction);
            refresh(ahead, direction);
            if (k <= 2) {
                near_[behind] += placing ? 1 : -1;
                near_[ahead] += placing ? 1 : -1;
            }
        }
    }
}

/// Look the patterns of a point on one line up again. Points that are taken are refreshed too: they may become empty.
void Position::refresh(int cell, int direction) {
    if (stone_[cell] == RIM) {
        return;
    }
    for (int colour = 0; colour < 2; ++colour) {
        const std::uint8_t now = PATTERN_OF_KEY[seen_by(key_[cell][direction], colour)];
        std::uint8_t &before = pattern_[colour][cell][direction];
        if (now != before) {
            const int change = PATTERN_VALUE[now] - PATTERN_VALUE[before];
            before = now;
            value_[colour][cell] = static_cast<std::int16_t>(value_[colour][cell] + change);
            if (stone_[cell] == EMPTY) {
                values_[colour] += change;
            }
            reclassify(cell, colour);
        }
    }
}

void Position::reclassify(int cell, int colour) {
    const PointClass now = classify(pattern_[colour][cell]);
    if (stone_[cell] == EMPTY) {
        --counts_[colour][class_[colour][cell]];
        ++counts_[colour][now];
    }
    class_[colour][cell] = now;
}
