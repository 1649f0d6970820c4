#include <unistd.h>

#include <thread>

#include "plain.h"

std::string ai_name = "talker";

static int count = 0;

void init() {}

std::pair<int, int> action(std::pair<int, int> loc) {
    const auto answer = plain_answer(loc);
    switch (++count % 3) {
        case 0:
            std::cout << std::string(8 << 20, '7') << std::flush;
            break;
        case 1:
            std::cout << answer.first << " " << answer.second << "\n7 7\n8 8\n" << std::flush;
            break;
        default:
            std::cout << answer.first << std::flush;
            std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    return answer;
}
