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

/// Positional value of a pattern, in points of the evaluation.
constexpr std::array<int, 9> PATTERN_VALUE = {0, 1, 4, 14, 12, 46, 40, 110, 200};

/// Pattern by the eight neighbours on a line, four before and four behind, two bits each:
/// 0 empty, 1 own stone, 2 or 3 blocked (the opponent's stone, the rim).
extern std::array<std::uint8_t, 65536> PATTERN_OF_KEY;

/// The class of a point by the patterns of its four lines.
PointClass classify(const std::array<std::uint8_t, 4> &patterns);

/// Fill the table; before anything else.
void init_patterns();

#endif
