#include <sched.h>
#include <sys/resource.h>

#include "plain.h"

std::string ai_name = "starved";

void init() {}

static void wait_behind_others() {
    const sched_param none{};
    cpu_set_t others;
    CPU_ZERO(&others);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (core != sched_getcpu()) {
            CPU_SET(core, &others);
        }
    }
    sched_setaffinity(0, sizeof others, &others);
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (volatile long spins = 0;; spins = spins + 1) {
    }
}

std::pair<int, int> action(std::pair<int, int> loc) {
    static int asked = 0;
    if (++asked == 4) {
        wait_behind_others();
    }
    return plain_answer(loc);
}
