// The two constants in which the rungs of the ladder differ; the rest is mcts.cpp, compiled once for all twelve.

#ifndef SIMULATIONS
#error "Say how many simulations each move gets: -DSIMULATIONS=50000"
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
