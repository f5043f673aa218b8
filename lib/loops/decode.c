/* SPDX-License-Identifier: MIT */
#include "decode.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <pthread.h>

/* Types that a header's functions have, and no reference to the functions: they are in a library of its own scope. */
static __typeof__(ZydisDecoderInit) *decoder_init;
static __typeof__(ZydisDecoderDecodeFull) *decode_full;
static __typeof__(ZydisRegisterGetLargestEnclosing) *whole;

static ZydisDecoder decoder;
static const char *why_not = "not yet loaded";

/* The first name is beside us, the second with the second's own dependency; the rest are the system's. */
static void *opened(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void load(void)
{
	void *library;

	opened(OL_ZYCORE); /* beside us it would not be found by its user */
	library = opened(OL_ZYDIS);
	why_not = OL_ZYDIS " is not there: install libzydis4.0";
	if (!library)
		return;
	decoder_init = (__typeof__(decoder_init))dlsym(library, "ZydisDecoderInit");
	decode_full = (__typeof__(decode_full))dlsym(library, "ZydisDecoderDecodeFull");
	whole = (__typeof__(whole))dlsym(library, "ZydisRegisterGetLargestEnclosing");
	why_not = OL_ZYDIS " is another one than Overlock was made for";
	if (decoder_init && decode_full && whole &&
	    ZYAN_SUCCESS(decoder_init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		why_not = 0;
}

const char *ol_decode_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return why_not;
}

bool ol_decode_is_started(void)
{
	return !why_not;
}

static uint8_t number(ZydisRegister name)
{
	ZydisRegister all = whole(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (name == ZYDIS_REGISTER_NONE)
		return OL_REGISTER_NONE;
	if (name == ZYDIS_REGISTER_RIP || name == ZYDIS_REGISTER_EIP)
		return OL_REGISTER_IP;
	if (all >= ZYDIS_REGISTER_RAX && all <= ZYDIS_REGISTER_R15)
		return (uint8_t)(all - ZYDIS_REGISTER_RAX);
	return OL_REGISTER_OTHER;
}

static bool is_flags(ZydisRegister name)
{
	return name == ZYDIS_REGISTER_RFLAGS || name == ZYDIS_REGISTER_EFLAGS ||
	       name == ZYDIS_REGISTER_FLAGS;
}

static uint32_t bit(uint8_t n)
{
	return n <= OL_REGISTER_OTHER ? 1u << n : 0;
}

static void take_register(struct ol_instruction *i, const ZydisDecodedOperand *operand)
{
	ZydisRegister name = operand->reg.value;

	if (is_flags(name) || number(name) == OL_REGISTER_IP)
		return;
	/* A part that is written keeps the rest of its register, which does not matter for where a value comes from. */
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		i->reads |= bit(number(name));
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		i->writes |= bit(number(name));
	if ((operand->actions & ZYDIS_OPERAND_ACTION_WRITE) && number(name) != OL_REGISTER_OTHER)
		i->defines |= bit(number(name));
}

static void take_memory(struct ol_instruction *i, const ZydisDecodedOperand *operand)
{
	const ZydisDecodedOperandMem *m = &operand->mem;

	i->reads |= bit(number(m->base)) | bit(number(m->index));
	if (m->type != ZYDIS_MEMOP_TYPE_MEM)
		return; /* only an address */
	i->loads |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	i->stores |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	i->address = (struct ol_address){
		number(m->base),
		number(m->index),
		m->scale,
		m->disp.has_displacement ? m->disp.value : 0,
	};
	if (m->segment == ZYDIS_REGISTER_FS || m->segment == ZYDIS_REGISTER_GS)
		i->address.base = OL_REGISTER_OTHER;
}

static uint8_t what(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_TPAUSE:
	case ZYDIS_MNEMONIC_UMWAIT:
	case ZYDIS_MNEMONIC_UMONITOR:
		return OL_DOES_RELAX;
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
		return OL_DOES_FENCE;
	case ZYDIS_MNEMONIC_ENDBR64:
		return OL_DOES_NOTHING;
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
		return OL_DOES_CLOCK;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return OL_DOES_END;
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_BT:
		return OL_DOES_COMPARE;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_CMPXCHG:
		return OL_DOES_MOVE;
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
		return OL_DOES_LOGIC;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_XADD:
		return OL_DOES_STEP;
	default:
		break;
	}
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return OL_DOES_BRANCH;
	case ZYDIS_CATEGORY_CALL:
		return OL_DOES_CALL;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
		return OL_DOES_SYSCALL;
	case ZYDIS_CATEGORY_RET:
		return OL_DOES_RETURN;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return OL_DOES_NOTHING;
	case ZYDIS_CATEGORY_SETCC:
		return OL_DOES_LOGIC;
	case ZYDIS_CATEGORY_CMOV:
		return OL_DOES_MOVE;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return z->raw.imm[0].is_relative ? OL_DOES_JUMP : OL_DOES_JUMP_AWAY;
	default:
		return OL_DOES_WORK;
	}
}

bool ol_decode(const unsigned char *code, size_t size, uint64_t at, struct ol_instruction *i)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(decode_full(&decoder, code, size, &z, operands)))
		return false;
	*i = (struct ol_instruction){ .at = at, .size = z.length, .does = what(&z) };
	i->is_atomic = (z.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
	if (z.cpu_flags) {
		i->sets_flags =
			(z.cpu_flags->modified | z.cpu_flags->set_0 | z.cpu_flags->set_1) != 0;
		i->uses_flags = z.cpu_flags->tested != 0;
	}
	/* Calls and returns use the stack, which no waiting loop is told by. */
	for (unsigned k = 0;
	     k < z.operand_count && i->does != OL_DOES_NOTHING && i->does < OL_DOES_CALL; k++) {
		if (operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER)
			take_register(i, &operands[k]);
		else if (operands[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			take_memory(i, &operands[k]);
	}
	/* Without a prefix it locks, too. */
	i->is_atomic |= z.mnemonic == ZYDIS_MNEMONIC_XCHG && i->stores;
	/* What it had is lost: the result is the same whatever that was. */
	if (z.mnemonic == ZYDIS_MNEMONIC_XOR && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operands[0].reg.value == operands[1].reg.value) {
		i->reads = 0;
		i->does = OL_DOES_MOVE;
	}
	i->if_equal = z.mnemonic == ZYDIS_MNEMONIC_JZ;
	i->if_unequal = z.mnemonic == ZYDIS_MNEMONIC_JNZ;
	i->immediate = z.raw.imm[0].size ? z.raw.imm[0].value.s : 0;
	if (z.raw.imm[0].is_relative) {
		i->target = at + z.length + (uint64_t)z.raw.imm[0].value.s;
		i->displacement_at = z.raw.imm[0].offset;
		i->displacement_size = z.raw.imm[0].size / 8;
	}
	return true;
}
