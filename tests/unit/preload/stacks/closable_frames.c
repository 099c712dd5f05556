// SPDX-License-Identifier: Apache-2.0
/* call_back(f) calls f through two frames, which are of another size in each of two such libraries (FRAME). The inner
 * call is at the same offset in both, the outer one is not. */
#define STRING(x) #x
#define TEXT(x) STRING(x)

__asm__(
    ".globl inner\n.type inner, @function\n"
    "inner:\n.cfi_startproc\n"
    "sub $" TEXT(FRAME) ", %rsp\n.cfi_adjust_cfa_offset " TEXT(FRAME) "\n"
    "call *%rdi\n"
    "add $" TEXT(FRAME) ", %rsp\n.cfi_adjust_cfa_offset -" TEXT(FRAME) "\n"
    "ret\n.cfi_endproc\n.size inner, .-inner\n"
    ".globl call_back\n.type call_back, @function\n"
    "call_back:\n.cfi_startproc\n"
    ".skip " TEXT(FRAME) " & 63, 0x90\n"
    "sub $" TEXT(FRAME) ", %rsp\n.cfi_adjust_cfa_offset " TEXT(FRAME) "\n"
    "call inner@plt\n"
    "add $" TEXT(FRAME) ", %rsp\n.cfi_adjust_cfa_offset -" TEXT(FRAME) "\n"
    "ret\n.cfi_endproc\n.size call_back, .-call_back\n");
