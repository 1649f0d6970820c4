"""Part 2 of the assignment: pure MCTS, the policy-value network, and MCTS guided by it (AlphaZero)."""
