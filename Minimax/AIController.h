// What an engine of the course includes: the line protocol (handout section 4.1).
//
// An engine defines
//     std::string ai_name;                                   how it is called
//     void init();                                           called once, when ai_side is known
//     std::pair<int, int> action(std::pair<int, int> loc);   the answer to the opponent's action `loc`
// and finds `ai_side`, 0 for black or 1 for white, here.
//
// `loc` is {-1, -1} when black is to open the game, and when white has swapped (see sample.cpp). Standard output belongs to
// the protocol: write notes to std::cerr.

#ifndef AI_CONTROLLER_H
#define AI_CONTROLLER_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

int ai_side;

extern std::string ai_name;
void init();
std::pair<int, int> action(std::pair<int, int> loc);

int main() {
    if (!(std::cin >> ai_side)) {
        return 0;
    }
    init();
    std::cout << ai_name << std::endl;
    int x = 0;
    int y = 0;
    while (std::cin >> x >> y) {  // the end of the input ends the engine
        const std::pair<int, int> answer = action(std::make_pair(x, y));
        std::cout << answer.first << " " << answer.second << std::endl;
    }
    return 0;
}

#endif
