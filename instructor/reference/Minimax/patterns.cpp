#include "patterns.h"

#include <algorithm>

std::array<PatternPair, 65536> PATTERNS_OF_KEY;
std::array<PointWorth, 6561> WORTH_OF_LINES;

namespace {

constexpr int LENGTH = 9;
constexpr int MIDDLE = 4;
constexpr int EMPTY = 0;
constexpr int OWN = 1;
constexpr int BLOCKED = 2;
constexpr int STATES = 19683;  // 3^9
using Line = std::array<int, LENGTH>;

std::array<int, STATES> known;  // patterns by number_of(line), -1 where not yet found

/// Whether the stone in the middle stands in a row of five or more.
bool has_five(const Line &line) {
    int length = 1;
    for (int i = MIDDLE - 1; i >= 0 && line[i] == OWN; --i) {
        ++length;
    }
    for (int i = MIDDLE + 1; i < LENGTH && line[i] == OWN; ++i) {
        ++length;
    }
    return length >= 5;
}

int number_of(const Line &line) {
    int number = 0;
    for (const int cell : line) {
        number = 3 * number + cell;
    }
    return number;
}

Pattern pattern_of(Line &line);

/// The pattern of a line without a five, by the best pattern that a further stone makes of it.
Pattern pattern_before_five(Line &line) {
    int fives = 0;
    Pattern next = NONE;
    for (int &cell : line) {
        if (cell == EMPTY) {
            cell = OWN;
            const Pattern made = pattern_of(line);
            cell = EMPTY;
            fives += made == FIVE;
            next = std::max(next, made);
        }
    }
    switch (next) {
        case FIVE: return fives >= 2 ? OPEN_FOUR : FOUR;
        case OPEN_FOUR: return OPEN_THREE;
        case FOUR: return THREE;
        case OPEN_THREE: return OPEN_TWO;
        case THREE: return TWO;
        case OPEN_TWO:
        case TWO: return ONE;
        default: return NONE;
    }
}

/// The pattern of a line with an own stone in its middle.
Pattern pattern_of(Line &line) {
    const int number = number_of(line);
    if (known[number] < 0) {
        known[number] = has_five(line) ? FIVE : pattern_before_five(line);
    }
    return static_cast<Pattern>(known[number]);
}

/// The class of a point with these patterns on its four lines.
PointClass classify(const std::array<std::uint8_t, 4> &patterns) {
    int fours = 0;
    int threes = 0;
    Pattern best = NONE;
    for (const std::uint8_t pattern : patterns) {
        best = std::max(best, static_cast<Pattern>(pattern));
        fours += pattern == FOUR;
        threes += pattern == OPEN_THREE;
    }
    if (best == FIVE) return MAKES_FIVE;
    if (best == OPEN_FOUR || fours >= 2) return WIN_FOUR;
    if (fours == 1) return threes > 0 ? FOUR_THREE : MAKES_FOUR;
    if (threes >= 2) return DOUBLE_THREE;
    return threes == 1 ? MAKES_THREE : QUIET;
}

}  // namespace

void init_patterns() {
    known.fill(-1);
    for (int key = 0; key < 65536; ++key) {
        for (int colour = 0; colour < 2; ++colour) {
            Line line;
            for (int i = 0, neighbour = 0; i < LENGTH; ++i) {
                const int stone = i == MIDDLE ? colour + 1 : (key >> (2 * neighbour++)) & 3;
                line[i] = stone == 0 ? EMPTY : stone == colour + 1 ? OWN : BLOCKED;
            }
            PATTERNS_OF_KEY[key][colour] = pattern_of(line);
        }
    }
    for (int number = 0; number < static_cast<int>(WORTH_OF_LINES.size()); ++number) {
        std::array<std::uint8_t, 4> patterns;
        int value = 0;
        for (std::size_t line = 0; line < patterns.size(); ++line) {
            patterns[line] = static_cast<std::uint8_t>(number / LINE_WEIGHT[line] % 9);
            value += PATTERN_VALUE[patterns[line]];
        }
        WORTH_OF_LINES[number] = {classify(patterns), static_cast<std::int16_t>(value)};
    }
}
