// What tells one rung of the ladder from another; all the rest is mcts.cpp, compiled once for the twelve of them.

#ifndef SIMULATIONS
#error "Say how many simulations a move has: -DSIMULATIONS=50000"
#endif
#ifndef RANDOM_OPENING
#define RANDOM_OPENING 0
#endif

namespace mcts {

extern const int simulations_a_move;
extern const bool opens_randomly;

const int simulations_a_move = SIMULATIONS;
const bool opens_randomly = RANDOM_OPENING != 0;

}  // namespace mcts
