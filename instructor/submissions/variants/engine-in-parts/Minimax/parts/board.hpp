#pragma once
#include <utility>
#include <vector>

// The stones of both colours by who put them there; a swap exchanges the two.
class Board {
  public:
    void put(std::pair<int, int> point, int colour);
    void exchange();
    std::vector<std::pair<int, int>> free_points(int low, int high) const;
    std::size_t count() const { return stones_[0].size() + stones_[1].size(); }
    bool touches(std::pair<int, int> point) const;

  private:
    bool holds(std::pair<int, int> point) const;
    std::vector<std::pair<int, int>> stones_[2];
};
