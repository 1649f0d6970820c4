asm(".section .fill,\"a\",@progbits\n .fill 2100000000,1,1\n .text");
