// The same of Rust.
use std::collections::BTreeMap;
use std::hint::black_box;

#[inline(never)]
#[no_mangle]
fn node_1_1_1(x: u64) -> u64 {
    (0..9).fold(x, |sum, i| sum.wrapping_mul(3) ^ (sum >> 7) ^ black_box(i))
}
#[inline(never)]
#[no_mangle]
fn node_1_1(x: u64) -> u64 {
    black_box(node_1_1_1(black_box(x))) + 1
}
#[inline(never)]
#[no_mangle]
fn node_1(x: u64) -> u64 {
    let text = [x as u8; 200];
    black_box(&text);
    black_box(node_1_1(x)) ^ u64::from(text[7])
}
#[inline(never)]
#[no_mangle]
fn node_2_1(x: u64) -> u64 {
    if x % 5 == 0 {
        panic!("five");
    }
    x + 1
}
#[inline(never)]
#[no_mangle]
fn node_2(x: u64) -> u64 {
    match std::panic::catch_unwind(|| black_box(node_2_1(black_box(x)))) {
        Ok(y) => y,
        Err(_) => x + 2,
    }
}
#[inline(never)]
#[no_mangle]
fn node_3(x: u64) -> u64 {
    let mut words = BTreeMap::new();
    for i in 0..8u64 {
        words.insert((x.wrapping_mul(i)).to_string(), i);
    }
    black_box(words).len() as u64
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut x = 1u64;
    for i in 0..1000u64 {
        x = black_box(node_1(black_box(x)));
        x = x.wrapping_add(black_box(node_2(black_box(i))));
        x = x.wrapping_add(black_box(node_3(black_box(x & 1023))));
    }
    println!("{}", x == 0);
}
