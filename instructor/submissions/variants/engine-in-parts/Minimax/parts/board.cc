#include "board.hpp"

#include <algorithm>
#include <cstdlib>

void Board::put(std::pair<int, int> point, int colour) { stones_[colour].push_back(point); }

void Board::exchange() { std::swap(stones_[0], stones_[1]); }

bool Board::holds(std::pair<int, int> point) const {
    return std::any_of(std::begin(stones_), std::end(stones_), [&](const auto &list) {
        return std::find(list.begin(), list.end(), point) != list.end();
    });
}

bool Board::touches(std::pair<int, int> point) const {
    for (const auto &list : stones_) {
        for (const auto &stone : list) {
            if (std::abs(stone.first - point.first) <= 1 && std::abs(stone.second - point.second) <= 1) {
                return true;
            }
        }
    }
    return false;
}

std::vector<std::pair<int, int>> Board::free_points(int low, int high) const {
    std::vector<std::pair<int, int>> found;
    for (int x = low; x <= high; ++x) {
        for (int y = low; y <= high; ++y) {
            if (!holds({x, y})) {
                found.emplace_back(x, y);
            }
        }
    }
    return found;
}
