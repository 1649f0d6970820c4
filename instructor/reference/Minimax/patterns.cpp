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

std::array<int, STATES> known;

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

/// The pattern of a line whose middle is an own stone: by what the best further stone would make of it.
Pattern pattern_of(Line &line) {
    int &answer = known[number_of(line)];
    if (answer >= 0) {
        return static_cast<Pattern>(answer);
    }
    Pattern best = NONE;
    if (has_five(line)) {
        best = FIVE;
    } else {
        int fives = 0;
        Pattern next = NONE;
        for (int i = 0; i < LENGTH; ++i) {
            if (line[i] == EMPTY) {
                line[i] = OWN;
                const Pattern made = pattern_of(line);
                line[i] = EMPTY;
                fives += made == FIVE;
                next = std::max(next, made);
            }
        }
        switch (next) {
            case FIVE: best = fives >= 2 ? OPEN_FOUR : FOUR; break;
            case OPEN_FOUR: best = OPEN_THREE; break;
            case FOUR: best = THREE; break;
            case OPEN_THREE: best = OPEN_TWO; break;
            case THREE: best = TWO; break;
            case OPEN_TWO:
            case TWO: best = ONE; break;
            default: best = NONE;
        }
    }
    answer = best;
    return best;
}

/// The class of a point by the patterns of its four lines.
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
