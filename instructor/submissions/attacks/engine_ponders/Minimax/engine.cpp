#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "plain.h"

std::string ai_name = "ponderer";

static std::atomic<long> thoughts{0};

void init() {
    for (int i = 0; i < 4; ++i) {
        std::thread([] {
            for (;;) {
                ++thoughts;
                kill(getpid(), SIGCONT);
            }
        }).detach();
    }
}

std::pair<int, int> action(std::pair<int, int> loc) { return plain_answer(loc); }
