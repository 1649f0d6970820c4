// What a stone would make of a line: classes of patterns and of points, looked up, never searched.

#ifndef PATTERNS_H
#define PATTERNS_H

#include <array>
#include <cstdint>

/// What a line becomes for a colour when it plays on the line's middle, best last. The names say what is there afterwards:
/// an open four can be completed in two places, a four in one; an open three can become an open four, a three only a four.
enum Pattern : std::uint8_t { NONE, ONE, TWO, OPEN_TWO, THREE, OPEN_THREE, FOUR, OPEN_FOUR, FIVE };

/// What a point is worth over its four lines, best last. WIN_FOUR is an open four or two fours at once: nothing but a five
/// answers it.
enum PointClass : std::uint8_t { QUIET, MAKES_THREE, DOUBLE_THREE, MAKES_FOUR, FOUR_THREE, WIN_FOUR, MAKES_FIVE, CLASSES };

/// Positional value of a pattern, in points of the evaluation: fitted to the results of games (docs/engines.md). What only
/// begins to grow tells nothing of who wins.
constexpr std::array<int, 9> PATTERN_VALUE = {0, 0, 0, 10, 22, 58, 115, 150, 200};

/// What one line of a point is for black and for white.
using PatternPair = std::array<std::uint8_t, 2>;

/// Both patterns by the eight neighbours on a line, four before and four behind, two bits each:
/// 0 empty, 1 black, 2 white, 3 rim.
extern std::array<PatternPair, 65536> PATTERNS_OF_KEY;

/// What a point is over its four lines, numbered by their patterns: pattern of line d times 9 to the power of d, added up.
struct PointWorth {
    PointClass point_class;
    std::int16_t value;  // sum of the pattern values
};
constexpr std::array<int, 4> LINE_WEIGHT = {1, 9, 81, 729};
extern std::array<PointWorth, 6561> WORTH_OF_LINES;

/// Fill the tables; before anything else.
void init_patterns();

#endif
