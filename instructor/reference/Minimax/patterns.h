// What a stone would make of a line. Patterns and point classes are looked up in tables, never searched for.

#ifndef PATTERNS_H
#define PATTERNS_H

#include <array>
#include <cstdint>

/// What a line becomes for a colour that plays in its middle, from worst to best. The names tell what is there afterwards: an
/// open four can become a five in two places, a four in one; an open three can become an open four, a three only a four.
enum Pattern : std::uint8_t { NONE, ONE, TWO, OPEN_TWO, THREE, OPEN_THREE, FOUR, OPEN_FOUR, FIVE };

/// What a stone on a point makes of its four lines together, from worst to best. WIN_FOUR is an open four or a double four:
/// only a five answers it.
enum PointClass : std::uint8_t { QUIET, MAKES_THREE, DOUBLE_THREE, MAKES_FOUR, FOUR_THREE, WIN_FOUR, MAKES_FIVE, CLASSES };

/// Positional value of each pattern, in points of the evaluation, fitted to the results of games (docs/engines.md). The first
/// stones of a line say nothing about who wins.
constexpr std::array<int, 9> PATTERN_VALUE = {0, 0, 0, 10, 22, 58, 115, 150, 200};

/// The pattern of one line of a point for black and for white.
using PatternPair = std::array<std::uint8_t, 2>;

/// Both patterns for each key. A key holds the eight neighbours of a point on a line, four before and four behind, two bits
/// each: 0 empty, 1 black, 2 white, 3 rim.
extern std::array<PatternPair, 65536> PATTERNS_OF_KEY;

/// A point's class and value by the number of its four lines: the sum of pattern of line d times 9 to the power of d.
struct PointWorth {
    PointClass point_class;
    std::int16_t value;  // sum of the pattern values
};
constexpr std::array<int, 4> LINE_WEIGHT = {1, 9, 81, 729};
extern std::array<PointWorth, 6561> WORTH_OF_LINES;

/// Fill the tables. Call this before anything else.
void init_patterns();

#endif
