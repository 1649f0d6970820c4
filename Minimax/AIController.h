// What an engine of the course includes: the line protocol (handout section 4.1).
//
// An engine defines
//     std::string ai_name;                                   its name
//     void init();                                           called once, when ai_side is known
//     std::pair<int, int> action(std::pair<int, int> loc);   the answer to the opponent's action `loc`
// and finds `ai_side`, 0 for black or 1 for white, here.
//
// `loc` is {-1, -1} when black is to open the game, and when white has swapped (see sample.cpp). Standard output belongs to
// the protocol: write notes to std::cerr.
//
// An engine that can begin in the middle of a game may also say in init() how it sets a stone that it did not choose:
//     ai_set_stone = [](int x, int y, bool mine) { ... };
// It can then be given positions (GOMOKU_POSITION, handout section 4.4); the stones of one are set after init().

#ifndef AI_CONTROLLER_H
#define AI_CONTROLLER_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

inline int ai_side;
inline void (*ai_set_stone)(int x, int y, bool mine) = nullptr;

extern std::string ai_name;
void init();
std::pair<int, int> action(std::pair<int, int> loc);

namespace ai_controller_header {

/// Sets the stones of GOMOKU_POSITION, black's first. False if there is none, or the engine has not said how.
inline bool take_position() {
    const char *position = std::getenv("GOMOKU_POSITION");
    if (position == nullptr || ai_set_stone == nullptr) {
        return false;
    }
    std::istringstream numbers(position);
    int x = 0;
    int y = 0;
    for (int side = 0; numbers >> x >> y; side = 1 - side) {
        ai_set_stone(x, y, side == ai_side);
    }
    return numbers.eof();
}

}  // namespace ai_controller_header

// Weak, so that several sources of one engine may include this file.
__attribute__((weak)) int main() {
    if (!(std::cin >> ai_side)) {
        return 0;
    }
    init();
    // The suffix after the name confirms that the engine has set up the position.
    std::cout << ai_name << (ai_controller_header::take_position() ? " +position" : "") << std::endl;
    int x = 0;
    int y = 0;
    while (std::cin >> x >> y) {  // the end of the input ends the engine
        const std::pair<int, int> answer = action(std::make_pair(x, y));
        std::cout << answer.first << " " << answer.second << std::endl;
    }
    return 0;
}

#endif
