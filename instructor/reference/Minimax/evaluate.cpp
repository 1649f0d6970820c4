#include "evaluate.h"

namespace {

// Fitted to the results of games, as the patterns are.
constexpr int TEMPO = 100;
constexpr int FOUR_THREE_NOW = 200;
constexpr int FOUR_THREE_LATER = 240;
constexpr int DOUBLE_THREE_NOW = 280;
constexpr int DOUBLE_THREE_LATER = 45;

}  // namespace

/// Patterns of the whole board, those of the side to move counted a sixth higher; and double threats that can be played, which
/// are worth more to the side that can play them now.
int evaluate(const Position &position, int side) {
    const int other = 1 - side;
    const int patterns = position.values(side) - position.values(other) + position.values(side) / 6;
    const int double_threats = FOUR_THREE_NOW * (position.count(side, FOUR_THREE) > 0) -
                               FOUR_THREE_LATER * (position.count(other, FOUR_THREE) > 0) +
                               DOUBLE_THREE_NOW * (position.count(side, DOUBLE_THREE) > 0) -
                               DOUBLE_THREE_LATER * (position.count(other, DOUBLE_THREE) > 0);
    return patterns + double_threats + TEMPO;
}
