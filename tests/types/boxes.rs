// Rust: a vector of structs, boxes in a list, a sum type.
#[repr(C)]
pub struct Trade { pub id: u32, pub price: f64, pub size: u16, pub next: Option<Box<Trade>> }

#[inline(never)]
fn total(trades: &[Trade]) -> f64 {
    let mut sum = 0.0;
    for trade in trades { if trade.size > 2 { sum += trade.price; } }
    sum
}
#[inline(never)]
fn reprice(trades: &mut Vec<Trade>, by: f64) { for i in 0..trades.len() { trades[i].price += by; trades[i].id += 1; } }
#[inline(never)]
fn chain(first: &Trade) -> u64 {
    let mut sum = 0u64;
    let mut at = first;
    while let Some(next) = &at.next { sum += next.id as u64; at = next; }
    sum
}

fn main() {
    let mut trades: Vec<Trade> = (0..300).map(|i| Trade { id: i, price: i as f64, size: (i % 5) as u16, next: None }).collect();
    let mut first = Trade { id: 0, price: 0.0, size: 0, next: None };
    for i in 0..200 { let old = first.next.take(); first.next = Some(Box::new(Trade { id: i, price: 1.0, size: 1, next: old })); }
    let mut sum = 0.0;
    for i in 0..60 { reprice(&mut trades, 0.5); sum += total(&trades) + chain(&first) as f64 + i as f64; }
    let size = std::mem::size_of::<Trade>();
    println!("field\tTrade\t0\t4\tid\nfield\tTrade\t8\t8\tprice\nfield\tTrade\t16\t2\tsize\nfield\tTrade\t24\t8\tnext");
    println!("object\tTrade\t{:p}\t{}\t{}\t*", trades.as_ptr(), size, trades.len());
    let mut at = &first;
    while let Some(next) = &at.next { println!("object\tTrade\t{:p}\t{}\t1\t*", &**next, size); at = next; }
    if sum < 0.0 { std::process::exit(1) }
}
